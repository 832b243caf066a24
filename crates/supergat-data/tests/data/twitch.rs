//! Tests of users of Twitch in the layout of MUSAE.

use crate::formats::Folder;
use crate::planetoid::real_folder;
use supergat_core::{Direction, Features, Labels};

fn twitch() -> Folder {
    let target = "id,days,mature,views,partner,new_id\n73045350,1459,False,9528,False,1\n61573865,1629,True,3615,False,2\n\
        171688491,411,True,46546,False,0\n";
    Folder::new(
        "users",
        vec![
            ("musae_PT_edges.csv", b"from,to\n0,1\n1,2\n2,1\n".to_vec()),
            ("musae_PT_target.csv", target.as_bytes().to_vec()),
            ("musae_PT_features.json", br#"{"0": [600, 1], "2": [], "1": [1]}"#.to_vec()),
        ],
    )
}

#[test]
fn reads_users_of_twitch() {
    let dataset = twitch().load().unwrap();
    assert_eq!((dataset.name.as_str(), dataset.features(), dataset.listed_links), ("PT", 601, 2));
    assert_eq!(&dataset.class_names[..], ["False", "True"]);
    assert_eq!(dataset.examples[0].labels, Labels::Single { classes: 2, of: vec![1, 0, 1] });
    let graph = &dataset.examples[0].graph;
    assert_eq!((graph.direction(), graph.incoming().of(1)), (Direction::Undirected, &[0, 1, 2][..]));
    let Features::Sparse(words) = &*dataset.examples[0].features else { panic!("sparse") };
    assert_eq!((words.offsets(), words.column_of()), (&[0, 2, 3, 3][..], &[1, 600, 1][..]));
    assert!(
        dataset.notes.iter().any(|note| note.contains("`views` and `partner` are not used")),
        "{:?}",
        dataset.notes
    );
}

#[test]
fn explains_faults_of_twitch() {
    let rows = |rows: &str| format!("id,days,mature,views,partner,new_id\n{rows}");
    for (text, part) in [
        (rows("7,1,True,1,False,0\n8,1,True,1,False,0\n"), "line 3: expected another new_id from 0 to 1"),
        (rows("7,1,True,1,False,1\n"), "line 2: expected another new_id from 0 to 0"),
        (rows("7,1,maybe,1,False,0\n"), "line 2: expected True or False in the column mature"),
        (rows("7,1\n"), "line 2: expected another new_id"),
    ] {
        let message = twitch().refusal("musae_PT_target.csv", text.as_bytes());
        assert!(message.contains(part), "{message}");
    }
}

/// The published layout, written from tables of the same users, gives the same graph.
#[test]
fn published_users_equal_converted_ones() {
    for name in ["twitch-pt", "twitch-es"] {
        let Some(folder) = real_folder(name) else { continue };
        let tables = supergat_data::tables::read(&folder, &Default::default()).unwrap();
        let table = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
        let mut target = String::from("id,days,mature,views,partner,new_id\n");
        // Not in the order of the numbers.
        for row in table("nodes.csv").lines().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let (number, mature) = row.split_once(',').unwrap();
            target += &format!("9{number},1,{mature},2,False,{number}\n");
        }
        let mut words = std::collections::BTreeMap::<String, Vec<u32>>::new();
        for row in table("features.csv").lines().skip(1) {
            let mut fields = row.split(',');
            let (node, word) = (fields.next().unwrap(), fields.next().unwrap());
            words.entry(node.to_owned()).or_default().push(word.parse().unwrap());
        }
        let edges = table("edges.csv").replace("source,target", "from,to");
        let files = vec![
            ("musae_X_edges.csv", edges.into_bytes()),
            ("musae_X_target.csv", target.into_bytes()),
            ("musae_X_features.json", serde_json::to_vec(&words).unwrap()),
        ];
        let users = Folder::new("users", files).load().unwrap();
        let ([a], [b]) = (&users.examples[..], &tables.examples[..]) else { panic!("one graph") };
        assert_eq!(a.graph.incoming(), b.graph.incoming());
        assert_eq!((&a.labels, &users.class_names), (&b.labels, &tables.class_names));
        let (Features::Sparse(a), Features::Sparse(b)) = (&*a.features, &*b.features) else { panic!("sparse") };
        assert_eq!((a.offsets(), a.column_of(), a.values()), (b.offsets(), b.column_of(), b.values()));
        assert_eq!(users.listed_links, tables.listed_links);
    }
}
