//! Texts that follow the options in the help of each command.

/// Text after the options of `supergat`.
pub const MAIN: &str = "\
Classifies the nodes of a graph with graph attention networks. Each node weights its neighbours by learned attention scores. \
SuperGAT models train these scores on a second task as well: predicting which pairs of nodes are linked.

Examples:
  supergat train                           train on a generated graph, in seconds
  supergat train cora --seeds 10           train with the paper's settings, ten seeds
  supergat evaluate runs/cora-supergat-mx  measure the accuracy of the trained model
  supergat predict runs/cora-supergat-mx   print the class of every node as CSV
  supergat inspect cora                    show size, degrees and homophily of a dataset
  supergat train my-folder                 train on your own graph
  supergat recommend my-folder             choose a model for it
  supergat reproduce planetoid             reproduce a table of the paper

Datasets:
  cora                       a known name; `supergat datasets` lists them
  my-folder                  a folder with nodes.csv and edges.csv
  my-graph.safetensors       a file written by `supergat convert`
  random-partition:degree=5  a generated graph

Known names are looked up in the folder named by SUPERGAT_DATA, in ./data and in the user's cache folder. `supergat download NAME` \
downloads a dataset.

Exit codes:
  0    success
  1    the job failed: for example, training diverged or a file could not be written
  2    wrong usage or input
  130  interrupted by Ctrl-C; finished work has been written";

/// Text after the options of `supergat train`.
pub const TRAIN: &str = "\
Trains a model for each seed and keeps the epoch with the best validation metric. The test metric of that epoch is reported. The \
metric is accuracy, or micro-F1 if a node may have several classes.

Settings come from these sources, each overriding those before it:
  1. the defaults shown above
  2. the paper's settings for the dataset and model, where it has some
  3. the --config file
  4. the options

Setting any early-stopping option enables early stopping. The delimiter and the columns of tables are detected unless options name them; \
`supergat inspect` shows the result.

Ctrl-C stops after the current epoch and writes the results so far. A second Ctrl-C quits at once.

A training that takes longer than ten minutes writes checkpoints to RUN.checkpoint beside the run folder (--checkpoint-every). After a \
crash or Ctrl-C, `supergat train --resume RUN` continues it: the result has the same bits as without interruption. Finished seeds are \
not trained again. The checkpoints are removed when the run folder is complete.

Several processes, started by `mpirun -n N supergat train ...`, train one network together if the dataset is a file of `supergat \
partition`. Otherwise every process trains some of the runs of --seeds or --splits. The result is that of one process. This needs a \
build with MPI.

Models:
  supergat-go, supergat-dp, supergat-sd, supergat-mx, supergat-v2  attention, also trained to predict edges
  gat-go, gat-dp, gat-sd, gat-mx, gatv2                            attention, trained on labels only
  cgat, cgat-full-supervised                                       attention, constrained by margins
  gcn, gcn-incoming, sage, sage-root, mlp                          networks without attention
  glcn, neuralsparse                                               gcn on learned weights of links, or on chosen neighbours
  gcn-gam                                                          gcn, trained by Graph Agreement Models
  lds                                                              gcn on sampled graphs, whose links are learned
  label-propagation                                                no network: labels of training nodes, spread over links
  trees                                                            no network: boosted trees on columns of nodes and neighbours
  auto                                                             the model named by `supergat recommend`

The forms of attention score a pair of nodes by a learned vector (go), by their dot product (dp), by their scaled dot product (sd), by \
go and dp combined (mx), or by a small network of both nodes (v2, the score of GATv2).

Splits:
  published        the split of the files, else the paper's, else a random one
  random[:SEED]    20 training and 30 validation nodes per class, all others for testing
  full-supervised  validation and test nodes as published, all other labelled nodes for training
  0, 1, ...        number of a split, for datasets with several splits
  --splits all     one run per split of the files; the result is mean and standard deviation over the splits

Examples:
  supergat train
  supergat train cora --seeds 10 --threads 4
  supergat train cora-ml --split random:7
  supergat train minesweeper --splits all
  supergat train path/to/folder --model gat-go --lr 0.005 --out runs/mine
  supergat train random-partition:homophily=0.2,degree=5 --lambda-e 3
  supergat train path/to/folder --features structural
  supergat train cora --print-config > cora.toml
  supergat train --config cora.toml
  supergat train path/to/folder --out runs/mine --checkpoint-every 30s
  supergat train --resume runs/mine

The run folder contains:
  config.toml        all settings of the run; repeat it with --config
  metrics.jsonl      losses and metrics of every epoch, counted from 0
  summary.json       the result with all metrics, as printed by --json
  model.safetensors  the model of the seed with the best validation metric
  predictions.csv    its predicted class and probabilities for every node
  attention.csv      its attention coefficients and edge logits
  report.html        report of the run, for a browser
  figures/           the figures of the report, as SVG

Exit codes: 0 success, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

/// Text after the options of `supergat evaluate`.
pub const EVALUATE: &str = "\
Prints the metric and the mean loss for the training, validation and test nodes. The metric is accuracy, or micro-F1 if a node may have \
several classes. Tables are read with the options of the training run unless options are given here. Features that training \
computed from the graph are computed here as well.

Examples:
  supergat evaluate runs/cora-supergat-mx
  supergat evaluate model.safetensors path/to/folder --json";

/// Text after the options of `supergat predict`.
pub const PREDICT: &str = "\
The dataset may be a folder of tables with a graph that was not used in training. Its columns are matched by name with those of the \
training tables. Labels may be missing.

Columns of the CSV file:
  graph      number of the graph, only if there are several
  node       id of the node
  split      train, validation, test or empty
  label      class of the node, if it is known
  predicted  predicted class
  p_CLASS    predicted probability of CLASS, one column per class

If a node may have several classes, they are separated by `|`.

Examples:
  supergat predict runs/cora-supergat-mx
  supergat predict runs/cora-supergat-mx path/to/folder --out predictions.csv
  supergat predict runs/mine --data new-folder --out new.csv --picture new.svg";

/// Text after the options of `supergat report`.
pub const REPORT: &str = "\
`supergat train` writes report.html into every run folder. It shows the result, the training curves, the confusion of classes, accuracy \
by degree and homophily of the nodes, attention statistics, the position of the graph on the paper's map, the most attended neighbours \
of some nodes, and the settings. The page is self-contained: it needs no network and no other file.

This command regenerates the report and its figures from the run folder and the dataset, for example after an update of supergat. \
Existing files are overwritten.

Examples:
  supergat report runs/cora-supergat-mx
  supergat report runs/cora-supergat-mx --json";

/// Text after the options of `supergat inspect`.
pub const INSPECT: &str = "\
For a folder of tables, the output also shows how each column was interpreted, and what was counted and skipped. Use it to check your \
files before training. The delimiter, the columns and their types are detected unless options name them.

Examples:
  supergat inspect cora
  supergat inspect wiki-cs --split 3
  supergat inspect my-folder --label-column team --categorical floor,ward
  supergat inspect random-partition:homophily=0.2,degree=5 --json";

/// Text after the options of `supergat recommend`.
pub const RECOMMEND: &str = "\
Which model for my graph? The answer is one or two sentences with numbers, limits and the command to run next.

Within seconds (the default), families of models are compared with their default settings. Labelled nodes are resampled into parts for \
training, for selecting the epoch and for scores; labels of test nodes are never used. The paper's map is prior knowledge about forms of \
attention: the best one on 144 synthetic graphs with known average degree and homophily (the mean fraction of a node's neighbours that have \
its class). The answer is the family with the largest probability of being the best of those compared.

Within --minutes, every family gets the same search on validation nodes. Its trials have two layers or deep blocks with norms and \
residuals, and the better ones are trained longer (successive halving). The selected settings then run on resampled splits, or on those of \
the files. Paired t-tests with Holm's correction compare the best family with all others on test nodes. The answer is the best family, or \
a simpler one that is at most half a point worse, or within one standard error of it and not significantly worse.

Times are measured, and numbers of trials, epochs and splits are chosen from them. They are settled after the first trials and written to \
plan.json; plan and seed determine everything else. After Ctrl-C or a crash, the same command resumes with the same result. If the time \
is over early, the rest is left out for all families alike, and plan.json records that. --plan repeats a comparison elsewhere.

If one of two classes is rare, the metric is AUROC. Within minutes, half of the trials then have balanced class weights, and best.toml \
chooses the threshold by F1 on the validation nodes.

`supergat train` without a model compares networks as within seconds: up to 20 s on one core, on large graphs about as long as one training. \
The number of runs then depends on the size of the graph only.

Families, the simplest first; gatv2 and supergat-v2 are compared within minutes only:
  label-propagation                      labels of training nodes, spread over links
  mlp                                    features only
  trees                                  boosted trees of features
  mlp-correct-and-smooth                 mlp, corrected and smoothed over links
  gcn, sage                              graph convolution; sage with root weights
  gat-go, gatv2                          attention
  supergat-sd, supergat-mx, supergat-v2  self-supervised attention

Examples:
  supergat recommend my-folder
  supergat recommend my-folder --seconds 60 --metric auroc
  supergat recommend cora --seconds 0 --out map
  supergat recommend my-folder --minutes 10
  supergat recommend my-folder --minutes 60 --families mlp,gcn,supergat-mx --out comparison

The output folder of a comparison within minutes contains:
  report.html      answer, figures and tables on one page
  best.toml        configuration of the recommended family, for supergat train --config
  table.md         answer and tables
  families.csv     all families with all digits; metrics are from 0 to 1
  comparisons.csv  the best family against all others
  families.svg, differences.svg
  plan.json        the plan
  results.jsonl    all runs

Exit codes: 0 success, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

/// Text after the options of `supergat profile`.
pub const PROFILE: &str = "\
Trains for --epochs epochs and prints the minimum and median time, in milliseconds, of a training step (forward, backward, optimiser) \
and of an evaluation pass. It also prints the time of each kernel and the peak memory. Results are not stored.

Models are listed in `supergat train --help`.

Examples:
  supergat profile cora --model supergat-mx
  supergat profile --random 169343,14,128,40 --hidden 16 --output-heads 1 --epochs 3 --json";

/// Text after the options of `supergat devices`.
pub const DEVICES: &str = "\
A GPU of NVIDIA needs a driver, and the libraries NVRTC and cuBLAS of CUDA 12 or 13, also as the Python packages nvidia-cuda-nvrtc and \
nvidia-cublas.

Examples:
  supergat devices
  supergat train cora --model supergat-mx --seeds 100 --device cuda";

/// Text after the options of `supergat partition`.
pub const PARTITION: &str = "\
The file has the nodes in another order, in which every part is a range of consecutive nodes and neighbours are close.
Each process of a training reads its parts only. Node ids, predictions and splits are those of the source.

The edge cut is the share of edges between different parts. The halo of a part are the nodes of other parts that it
needs. Balance is the largest part divided by the mean.

Examples:
  supergat partition my-folder --parts 16 --out my-graph.supergat.safetensors
  mpirun -n 2 supergat train my-graph.supergat.safetensors --model supergat-mx";

/// Text after the options of `supergat convert`.
pub const CONVERT: &str = "\
A .safetensors file contains the prepared graph, features, labels, splits, ids and names. It loads without sorting. Use it wherever a \
dataset is expected.

A folder contains nodes.csv, edges.csv, splits.csv, dataset.toml and, for sparse features, features.csv.

Training on the converted dataset gives bit-identical results. The file of a large graph also contains an order of its nodes for the \
engine (--node-order), which is then not searched again.

Examples:
  supergat convert my-folder my-graph.supergat.safetensors
  supergat convert cora cora-tables
  supergat train my-graph.supergat.safetensors";

/// Text after the options of `supergat datasets`.
pub const DATASETS: &str = "\
Prints name, size, licence and folder of each dataset. Datasets without a folder are downloaded with `supergat download NAME`.

Datasets are looked up in the folder named by SUPERGAT_DATA, in ./data and in the user's cache folder.";

/// Text after the options of `supergat cache`.
pub const CACHE: &str = "\
A dataset that takes half a second or longer to load is stored in the user's cache folder after its preparation (principal components, \
TF-IDF, parsed tables). It is then loaded from there as long as its files, the options and the version of supergat are the same. \
If the cache exceeds its limit, the least recently used datasets are removed.

Environment variables:
  SUPERGAT_CACHE_SIZE     limit, such as 8GiB; 0 turns the cache off [default: 4GiB]
  SUPERGAT_CACHE_SECONDS  minimum loading time of stored datasets [default: 0.5]
  SUPERGAT_NO_CACHE       1 turns the cache off, as --no-cache does

Examples:
  supergat cache
  supergat cache --json
  supergat cache clear";

/// Text after the options of `supergat download`.
pub const DOWNLOAD: &str = "\
Each dataset is written to its own folder, inside the folder named by SUPERGAT_DATA or, if that is not set, in the user's cache folder. \
Both are searched when a dataset is named. Interrupted downloads are resumed. Checksums are verified where they are known. The folder \
appears only when it is complete.

A mirror can also be set with the environment variable SUPERGAT_MIRROR. Requires the program curl.

Examples:
  supergat download cora citeseer pubmed
  supergat download cora --from https://mirror.example/graphs";

/// Text after the options of `supergat reproduce`.
pub const REPRODUCE: &str = "\
Trains with the paper's settings, one run per core. Runs that the results file already contains are skipped. Then the table is printed, \
with the paper's numbers next to ours, and written to the output folder as TABLE.md, TABLE.csv and TABLE.html. \
Metrics are from 0 to 1 in TABLE.csv and --json.

Every finished run is a line of the results file, so you can stop at any time with Ctrl-C and resume with the same command. Failed runs \
are recorded and tried again. The times of wall-clock are measured each time and not stored.

With --device cuda, runs and tables are those of a GPU; a results file keeps them apart from those of the CPU.

Datasets that are not on this machine are skipped; `supergat download NAME` downloads them.

Examples:
  supergat reproduce planetoid
  supergat reproduce planetoid --datasets cora --models gat-go,supergat-mx --seeds 10
  supergat reproduce real-world --split redrawn --seeds 30
  supergat reproduce all --table-only

Exit codes: 0 success, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

/// Text after the options of `supergat study`.
pub const STUDY: &str = "\
Each study writes figures, tables and report.html to the folder studies/STUDY. `supergat study STUDY --help` describes a study.

Examples:
  supergat study density cora
  supergat study grid --quick";

/// Text after the options of `supergat compare`.
pub const COMPARE: &str = "\
Tests whether the test metrics of two sets of runs differ. Runs with the same splits and seeds are compared in pairs (paired t-test and \
Wilcoxon signed-rank test), other runs with Welch's t-test. The paper's test, an unpaired t-test with pooled variance, is printed as \
well. The last sentence states the conclusion and the smallest difference that this number of runs can detect.

Runs of a results file are selected by FILE:DATASET/MODEL. If they differ in settings, split, task or device, add filters: \
FILE:DATASET/MODEL,KEY=VALUE,... The filter split=redrawn selects the runs of `supergat reproduce --split redrawn`, where each seed has \
its own split.

Examples:
  supergat compare runs/cora-gat-go runs/cora-supergat-mx
  supergat compare runs/plain runs/weighted --metric recall:fraud
  supergat compare results.jsonl:cora/gat-go results.jsonl:cora/supergat-mx --json
  supergat compare results.jsonl:cora/gat-go,split=published,lambda_2=0.0005 runs/mine";

/// Text after the options of `supergat tune`.
pub const TUNE: &str = "\
Searches the weight decay (lambda_2) and, for self-supervised models, lambda_E, p_n and p_e, with tree-structured Parzen estimators \
(TPE). All other settings are those of `supergat train`; its help lists the models. The first trial uses the settings of \
`supergat train` unchanged.

--also adds settings with their usual values: lr, dropout, layers, hidden, heads, norm, residual, activation, input_layer, \
output_layer, self_loops, attention_dropout, separate_ego, and model, which chooses among the gat and supergat models. \
--search gives the values of a setting: a range LOW..HIGH, of whole numbers or on a logarithmic scale, or a list. It also \
replaces the usual values. Settings that the model of a trial does not use stay as they are.

The score of a trial is its mean validation metric over --seeds seeds. A trial ends after its first seed if the metric of \
that seed is below the median of earlier trials. At the end, the best five trials run with five more seeds, and the best \
mean wins. Test nodes are never used.

With --prune, the first run of a trial stops after an eighth, a quarter or half of --max-epochs if its validation metric so \
far is below the median of earlier trials at that epoch.

Every finished run is stored, so you can stop at any time with Ctrl-C and resume with the same command. The same seed tries the same \
settings on any number of threads; with --minutes, the number of trials depends on the speed of the machine.

Examples:
  supergat tune cora --model supergat-mx --minutes 15
  supergat tune my-folder --trials 60 --also lr,dropout
  supergat tune my-folder --trials 100 --prune --also hidden,norm,residual --search layers=2..8 --search model=gat-go,supergat-mx
  supergat train --config tune/cora-supergat-mx/best.toml --seeds 20

The output folder contains:
  best.toml      the best settings, for train --config
  history.csv    all trials
  search.svg     plot of the search
  results.jsonl  all runs, used to resume the search

Exit codes: 0 success, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

#[cfg(test)]
mod tests {
    use super::TRAIN;
    use supergat_core::ModelKind;

    #[test]
    fn train_help_lists_every_model() {
        let words: Vec<&str> = TRAIN.split([',', ' ', '\n']).collect();
        for model in ModelKind::ALL {
            assert!(words.contains(&model.to_string().as_str()), "{model}");
        }
    }
}
