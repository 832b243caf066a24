//! Sizes and sources of the paper's real-world datasets and of the heterophilous benchmark.
//!
//! Sizes are those of the papers. Checksums are given where those of the public files are known.

use super::{Entry, RemoteFile, Unpack};

/// Licence and web page of a publisher.
struct Publisher {
    licence: &'static str,
    home: &'static str,
}

const PLANETOID: Publisher = Publisher { licence: "MIT", home: "https://github.com/kimiyoung/planetoid" };
const GRAPH2GAUSS: Publisher = Publisher { licence: "MIT", home: "https://github.com/abojchevski/graph2gauss" };
const GNN_BENCHMARK: Publisher = Publisher { licence: "MIT", home: "https://github.com/shchur/gnn-benchmark" };
const WIKIPEDIA: Publisher =
    Publisher { licence: "not stated", home: "https://snap.stanford.edu/data/wikipedia-article-networks.html" };
const HETEROPHILOUS_GRAPHS: Publisher =
    Publisher { licence: "MIT", home: "https://github.com/yandex-research/heterophilous-graphs" };

/// Describes a dataset by its numbers of nodes, links, features and classes.
const fn entry(
    name: &'static str,
    [nodes, edges, features, classes]: [usize; 4],
    Publisher { licence, home }: Publisher,
    files: &'static [RemoteFile],
) -> Entry {
    Entry { name, nodes, edges, features, classes, licence, home, files }
}

/// Describes a file without a known checksum: its name, its address and, for archives, how it is unpacked.
macro_rules! file {
    ($name:literal, $url:expr) => {
        file!($name, $url, Unpack::Not)
    };
    ($name:literal, $url:expr, $unpack:expr) => {
        RemoteFile { name: $name, url: $url, sha256: None, unpack: $unpack }
    };
}

/// Describes the files of a Planetoid dataset by their endings and checksums.
macro_rules! planetoid {
    ($name:literal, $($ending:literal $sha256:literal,)*) => {
        &[$(RemoteFile {
            name: concat!("ind.", $name, ".", $ending),
            url: concat!("https://github.com/kimiyoung/planetoid/raw/master/data/ind.", $name, ".", $ending),
            sha256: Some($sha256),
            unpack: Unpack::Not,
        }),*]
    };
}

/// Datasets of the paper.
pub const ENTRIES: [Entry; 17] = [
    entry(
        "cora",
        [2708, 5429, 1433, 7],
        PLANETOID,
        planetoid!(
            "cora",
            "x" "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
            "tx" "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
            "allx" "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
            "y" "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
            "ty" "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
            "ally" "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
            "graph" "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
            "test.index" "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
        ),
    ),
    entry(
        "citeseer",
        [3327, 4732, 3703, 6],
        PLANETOID,
        planetoid!(
            "citeseer",
            "x" "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
            "tx" "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
            "allx" "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
            "y" "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
            "ty" "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
            "ally" "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
            "graph" "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
            "test.index" "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        ),
    ),
    entry(
        "pubmed",
        [19717, 44338, 500, 3],
        PLANETOID,
        planetoid!(
            "pubmed",
            "x" "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            "tx" "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "allx" "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "y" "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
            "ty" "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "ally" "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "graph" "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "test.index" "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        ),
    ),
    entry(
        "cora-ml",
        [2995, 8158, 2879, 7],
        GRAPH2GAUSS,
        &[file!("cora_ml.npz", "https://github.com/abojchevski/graph2gauss/raw/master/data/cora_ml.npz")],
    ),
    entry(
        "cora-full",
        [19793, 63421, 500, 70],
        GRAPH2GAUSS,
        &[file!("cora.npz", "https://github.com/abojchevski/graph2gauss/raw/master/data/cora.npz")],
    ),
    entry(
        "dblp",
        [17716, 52867, 1639, 4],
        GRAPH2GAUSS,
        &[file!("dblp.npz", "https://github.com/abojchevski/graph2gauss/raw/master/data/dblp.npz")],
    ),
    entry(
        "ogbn-arxiv",
        [169343, 1166243, 128, 40],
        Publisher { licence: "ODC-BY", home: "https://ogb.stanford.edu/docs/nodeprop/" },
        &[file!("arxiv.zip", "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip", Unpack::Below("arxiv"))],
    ),
    entry(
        "cs",
        [18333, 81894, 500, 15],
        GNN_BENCHMARK,
        &[file!(
            "ms_academic_cs.npz",
            "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/ms_academic_cs.npz"
        )],
    ),
    entry(
        "physics",
        [34493, 247962, 500, 5],
        GNN_BENCHMARK,
        &[file!(
            "ms_academic_phy.npz",
            "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/ms_academic_phy.npz"
        )],
    ),
    entry(
        "photo",
        [7650, 119081, 745, 8],
        GNN_BENCHMARK,
        &[file!(
            "amazon_electronics_photo.npz",
            "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/amazon_electronics_photo.npz"
        )],
    ),
    entry(
        "computers",
        [13752, 245861, 767, 10],
        GNN_BENCHMARK,
        &[file!(
            "amazon_electronics_computers.npz",
            "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/amazon_electronics_computers.npz"
        )],
    ),
    entry(
        "wiki-cs",
        [11701, 297110, 300, 10],
        Publisher { licence: "MIT", home: "https://github.com/pmernyei/wiki-cs-dataset" },
        &[file!("data.json", "https://github.com/pmernyei/wiki-cs-dataset/raw/master/dataset/data.json")],
    ),
    entry(
        "four-univ",
        [4518, 3426, 2000, 6],
        Publisher { licence: "not stated", home: "https://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data/" },
        &[file!("webkb.tar.gz", "https://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data/webkb-data.gtar.gz")],
    ),
    entry(
        "chameleon",
        [2277, 36101, 500, 6],
        WIKIPEDIA,
        &[file!(
            "wikipedia.zip",
            "https://snap.stanford.edu/data/wikipedia.zip",
            Unpack::Members(&[
                ("musae_chameleon_edges.csv", "chameleon_edges.csv"),
                ("musae_chameleon_features.json", "chameleon.json"),
                ("musae_chameleon_target.csv", "chameleon_target.csv"),
            ])
        )],
    ),
    entry(
        "crocodile",
        [11631, 180020, 500, 6],
        WIKIPEDIA,
        &[file!(
            "wikipedia.zip",
            "https://snap.stanford.edu/data/wikipedia.zip",
            Unpack::Members(&[
                ("musae_crocodile_edges.csv", "crocodile_edges.csv"),
                ("musae_crocodile_features.json", "crocodile.json"),
                ("musae_crocodile_target.csv", "crocodile_target.csv"),
            ])
        )],
    ),
    entry(
        "flickr",
        [89250, 449878, 500, 7],
        Publisher { licence: "not stated", home: "https://github.com/GraphSAINT/GraphSAINT" },
        &[
            file!(
                "adj_full.npz",
                "https://drive.usercontent.google.com/download?id=1crmsTbd1-2sEXsGwa2IKnIB7Zd3TmUsy&confirm=t"
            ),
            file!(
                "feats.npy",
                "https://drive.usercontent.google.com/download?id=1join-XdvX3anJU_MLVtick7MgeAQiWIZ&confirm=t"
            ),
            file!(
                "class_map.json",
                "https://drive.usercontent.google.com/download?id=1uxIkbtg5drHTsKt-PAsZZ4_yJmgFmle9&confirm=t"
            ),
            file!(
                "role.json",
                "https://drive.usercontent.google.com/download?id=1htXCtuktuCW8TR8KiKfrFDAxUgekQoV7&confirm=t"
            ),
        ],
    ),
    entry(
        "ppi",
        [56944, 818716, 50, 121],
        Publisher { licence: "not stated", home: "http://snap.stanford.edu/graphsage/" },
        &[file!("ppi.zip", "https://data.dgl.ai/dataset/ppi.zip")],
    ),
];

/// Datasets of the heterophilous benchmark (Platonov et al., 2023), each with ten splits.
pub const HETEROPHILOUS: [Entry; 2] = [
    entry(
        "minesweeper",
        [10000, 39402, 7, 2],
        HETEROPHILOUS_GRAPHS,
        &[file!(
            "minesweeper.npz",
            "https://github.com/yandex-research/heterophilous-graphs/raw/main/data/minesweeper.npz"
        )],
    ),
    entry(
        "chameleon-filtered",
        [890, 8854, 2325, 5],
        HETEROPHILOUS_GRAPHS,
        &[file!(
            "chameleon_filtered.npz",
            "https://github.com/yandex-research/heterophilous-graphs/raw/main/data/chameleon_filtered.npz"
        )],
    ),
];
