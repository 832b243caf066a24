//! What follows the options in the help of each command.

/// Of `supergat`.
pub const MAIN: &str = "\
Classifies the nodes of a graph. Every node weighs its neighbours by attention, and attention is taught by the graph itself: the \
score it gives to two nodes must also predict whether a link joins them.

Examples:
  supergat train                           train on a generated graph, in seconds
  supergat train cora --seeds 10           the paper's settings, ten seeds
  supergat evaluate runs/cora-supergat-mx  measure the trained model again
  supergat predict runs/cora-supergat-mx   classes and probabilities of all nodes, as CSV
  supergat inspect cora                    size, degrees and homophily of a dataset
  supergat train my-folder                 your own graph: nodes.csv and edges.csv
  supergat recommend my-folder             which form of attention suits it, and why
  supergat reproduce planetoid             the paper's table, made again beside the printed one

Known names such as cora are looked up in the folder that SUPERGAT_DATA names, in ./data and in this user's cache, where `supergat download` \
puts them. Your own graph is a folder with nodes.csv and edges.csv.";

/// Of `supergat train`.
pub const TRAIN: &str = "\
The model of the epoch with the best validation metric is kept, and its test metric reported. Settings come from, the later \
winning: the defaults shown here, the paper's for that dataset and model where it has some, the --config file, the options. \
While it trains, the loss is shown with its parts, labels + edges. Ctrl-C stops after the current epoch and writes what there is; a \
second one quits at once.

Attention scores two nodes by a learned vector (go), by their product (dp), by their scaled product (sd), or by go and dp together (mx).

Examples:
  supergat train
  supergat train cora --seeds 10 --threads 4
  supergat train cora-ml --split random:7
  supergat train path/to/folder --model gat-go --lr 0.005 --out runs/mine
  supergat train random-partition:homophily=0.2,degree=5 --lambda-e 3
  supergat train cora --print-config > cora.toml
  supergat train --config cora.toml

The run folder:
  config.toml        everything that decided the run; --config takes it back
  metrics.jsonl      losses and metrics of every epoch, counted from 0
  summary.json       the result, as --json prints it
  model.safetensors  the model of the seed with the best validation metric
  predictions.csv    its class and probabilities for every node
  attention.csv      its attention coefficients and edge logits
  report.html        all of this for people: a page that any browser opens
  figures/           the figures of that page, as SVG

Exit codes: 0 done, 1 the job failed, 2 wrong usage or input, 130 interrupted.";

/// Of `supergat evaluate`.
pub const EVALUATE: &str = "\
Prints accuracy (micro-F1 where a node may have several classes) and mean loss of the training, validation and test nodes.

Examples:
  supergat evaluate runs/cora-supergat-mx
  supergat evaluate model.safetensors path/to/folder --json";

/// Of `supergat predict`.
pub const PREDICT: &str = "\
The columns: graph (when there are several), node, split, label, predicted, and p_<class> for every class. Several classes of a \
node are joined by `|`.

Examples:
  supergat predict runs/cora-supergat-mx
  supergat predict runs/cora-supergat-mx path/to/folder --out predictions.csv
  supergat predict runs/mine --data new-folder --out new.csv --picture new.svg

A folder of tables may hold a graph that training never saw: its columns are matched by name, and labels may be missing.";

/// Of `supergat report`.
pub const REPORT: &str = "\
Every training ends with a report, report.html in its run folder: the result, curves over the epochs, which classes are taken for which, how well \
nodes of few or unlike neighbours are classified, what attention does, where the graph lies on the paper's map, whom some nodes trust, and the \
configuration. This command writes it again, from the folder's files and the dataset, for instance after an update of supergat. The page needs no \
network and no other file.

Examples:
  supergat report runs/cora-supergat-mx
  supergat report runs/cora-supergat-mx --json";

/// Of `supergat inspect`.
pub const INSPECT: &str = "\
Of a folder of tables it also says how every column was understood, and what was counted and left out: a dry run.

Examples:
  supergat inspect cora
  supergat inspect wiki-cs --split 3
  supergat inspect random-partition:homophily=0.2,degree=5 --json";

/// Of `supergat recommend`.
pub const RECOMMEND: &str = "\
Asks the paper's map: on 144 synthetic graphs of known average degree and homophily it says which form of attention is best. The degree of a \
graph is known; its homophily, the share of neighbours of a node's own class, is estimated from the labels of training and validation nodes, with a 95 % \
interval, and the answer takes in how uncertain that is. Labels of test nodes are not looked at. `supergat train --model auto` \
trains what is named here.

The confidence is the chance, by the map, that no other form does better. Where it is a close call, a short search with each of two \
models decides: supergat tune DATASET --model MODEL --minutes 10.

Examples:
  supergat recommend cora
  supergat recommend my-folder --standardise --out recipe
  supergat recommend cora --training-labels --json";

/// Of `supergat bench`.
pub const BENCH: &str = "\
Trains for a number of epochs and reports the median and the minimum of the milliseconds of a training
step (forward, backward, optimiser) and of an evaluation pass, and the largest memory in use.

Examples:
  supergat bench cora --model supergat-mx
  supergat bench --random 169343,14,128,40 --hidden 16 --output-heads 1 --epochs 3 --json";

/// Of `supergat convert`.
pub const CONVERT: &str = "\
The file holds the finished graph, features, labels, splits, ids and names, and loads without any sorting; use it in place of a dataset. The \
folder holds nodes.csv, edges.csv, splits.csv, dataset.toml and, for sparse features, features.csv. Training on either gives the same bits as \
on the source.

Examples:
  supergat convert my-folder my-graph.supergat.safetensors
  supergat convert cora cora-tables
  supergat train my-graph.supergat.safetensors";

/// Of `supergat download`.
pub const DOWNLOAD: &str = "\
The files go to a folder of their own in the one that SUPERGAT_DATA names, else in this user's cache; both are searched when a dataset is \
named. What was cut off is resumed, checksums are compared where they are known, and a folder appears when it is complete. SUPERGAT_MIRROR can \
name a mirror, as --from does. Needs the program curl.

Examples:
  supergat download cora citeseer pubmed
  supergat download cora --from https://mirror.example/graphs";

/// Of `supergat reproduce`.
pub const REPRODUCE: &str = "\
Runs with the paper's settings, one run per core, whatever the results file does not hold yet, and then writes TABLE.md, TABLE.csv and TABLE.html \
to the output folder. Every finished run is a line of the results file and is never made again: stop with Ctrl-C whenever you like, start the same \
command again, and it goes on. A run that failed is kept as such and tried again the next time.

Examples:
  supergat reproduce planetoid
  supergat reproduce planetoid --datasets cora --models gat-go,supergat-mx --seeds 10
  supergat reproduce real-world --split redrawn --seeds 30
  supergat reproduce all --table-only

Datasets that are not on this machine are left out, and `supergat download NAME` fetches them.";

/// Of `supergat compare`.
pub const COMPARE: &str = "\
Tests whether the test metrics of two sets of runs differ. Runs that share their splits and seeds are compared in pairs (paired t-test, and \
Wilcoxon's signed-rank test); others by Welch's t-test. The paper's own test, an unpaired one with pooled variance, is shown as well. The last \
sentence says what may be concluded, and which difference could have been seen with so many runs.

Of a results file a part is taken: FILE:DATASET/MODEL, and where that has several settings, splits or tasks, FILE:DATASET/MODEL,KEY=VALUE,... \
With split=redrawn these are the runs of every seed on a split of its own, as `supergat reproduce --split redrawn` makes them.

Examples:
  supergat compare runs/cora-gat-go runs/cora-supergat-mx
  supergat compare results.jsonl:cora/gat-go results.jsonl:cora/supergat-mx --json
  supergat compare results.jsonl:cora/gat-go,split=published,lambda_2=0.0005 runs/mine";

/// Of `supergat tune`.
pub const TUNE: &str = "\
Searches lambda_2 and, of self-supervised models, lambda_e, p_n and p_e, by tree-structured Parzen estimators. A trial is worth the mean \
validation metric of three seeds (--seeds); one whose first seed is below the median of earlier trials ends there. The best five run with five \
further seeds in the end, and the best mean wins. Test nodes are not looked at. All other settings are those of `supergat train`, which are also the first trial.

Every finished run is kept: stop with Ctrl-C whenever you like, start the same command again, and it goes on. The same seed tries the same \
settings, on any number of threads; only --minutes ends when it ends.

Examples:
  supergat tune cora --model supergat-mx --minutes 15
  supergat tune my-folder --trials 60 --also lr,dropout
  supergat train --config tune/cora-supergat-mx/best.toml --seeds 20

The folder:
  best.toml      the best settings, for train --config
  history.csv    every trial
  search.svg     a picture of the search
  results.jsonl  every run; the search goes on from it";
