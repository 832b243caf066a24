//! Our numbers beside the paper's.

use crate::reproduce::paper::{Figure, PaperRow};
use crate::reproduce::plan::{Plan, Splits};
use crate::reproduce::verdict::Verdict;
use crate::settings::Settings;
use crate::sheet::Sheet;
use crate::statistics::{Mark, Summary, holm, mark};
use crate::sweep::{Index, Job, ResultsFile};
use supergat_data::{SplitChoice, registry};

/// What every other model is compared with.
const REFERENCE: &str = "gat-go";

const CSV_HEADER: &str =
    "dataset,model,name,mean,std,low,high,n,wanted,paper_mean,paper_std,difference,p_against_gat,p_holm,mark,verdict";

/// A table of the paper, made again.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it is called on the command line.
    pub id: String,
    /// Its lines, those of a dataset together.
    pub lines: Vec<Line>,
    title: String,
    notes: Vec<String>,
}

/// A model on a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The dataset.
    pub dataset: String,
    /// What the paper calls the model.
    pub name: String,
    /// What this program calls it.
    pub model: Option<String>,
    /// Our test results in percent, in the order of the seeds.
    pub ours: Option<Summary>,
    /// How many there should be.
    pub wanted: usize,
    /// What the paper prints.
    pub paper: Option<Figure>,
    /// The paper's test of our results against ours of GAT.
    pub against_gat: Option<Mark>,
    /// The chance of that test after Holm's correction for all models of the dataset.
    pub holm: Option<f64>,
    /// Whether the two numbers agree.
    pub verdict: Verdict,
}

impl Table {
    /// From what a results file holds. The order of its lines and the times in it make no difference.
    pub fn new(plan: &Plan, results: &ResultsFile) -> Self {
        let index = Index::new(results.records());
        let paper = &plan.table;
        let lines = paper.datasets.iter().flat_map(|dataset| lines(plan, dataset, &index)).collect::<Vec<_>>();
        let title = format!("{}, in percent", paper.title);
        let notes = notes(plan, &lines);
        Self { id: paper.id.clone(), lines, title, notes }
    }

    /// As text.
    pub fn sheet(&self) -> Sheet {
        Sheet {
            title: self.title.clone(),
            header: ["dataset", "model", "ours", "n", "paper", "difference", "p", "p (Holm)", "mark", "verdict"]
                .map(Into::into)
                .into(),
            rows: self.lines.iter().map(|line| (line.verdict.tone(), line.texts())).collect(),
            csv_header: CSV_HEADER.into(),
            csv_rows: self.lines.iter().map(Line::csv).collect(),
            notes: self.notes.clone(),
        }
    }
}

fn lines(plan: &Plan, dataset: &str, index: &Index<'_>) -> Vec<Line> {
    let found = |job: &Job| Some(100.0 * index.find(job)?.test()?.metric);
    let values = |row: &PaperRow| plan.cell(row, dataset).iter().filter_map(found).collect::<Vec<f64>>();
    let reference = plan.table.rows.iter().find(|row| row.model.as_deref() == Some(REFERENCE)).map(values);
    let line = |row: &PaperRow| {
        let ours = Some(values(row)).filter(|values| !values.is_empty()).map(Summary::of);
        let against_gat = match (&ours, &reference) {
            (Some(ours), Some(gat)) if row.model.as_deref() != Some(REFERENCE) => mark(&ours.values, gat).ok(),
            _ => None,
        };
        let paper = row.cells.get(dataset).copied();
        let verdict = match Verdict::of(ours.as_ref(), paper, row.reprinted) {
            Verdict::Within(_) | Verdict::Outside(_) if plan.splits != Splits::Published => Verdict::OtherSplits,
            verdict => verdict,
        };
        Line {
            dataset: dataset.to_owned(),
            name: row.name.clone(),
            model: row.model.clone(),
            wanted: plan.cell(row, dataset).len(),
            verdict,
            ours,
            paper,
            against_gat,
            holm: None,
        }
    };
    let rows = plan.table.rows.iter().map(line);
    let mut lines: Vec<Line> = rows.filter(|line| line.paper.is_some() || line.wanted > 0).collect();
    correct(&mut lines);
    lines
}

/// Corrects the chances of a dataset for their number.
fn correct(lines: &mut [Line]) {
    let tested: Vec<(&mut Option<f64>, f64)> =
        lines.iter_mut().filter_map(|line| Some((&mut line.holm, line.against_gat?.test.p))).collect();
    let chances: Vec<f64> = tested.iter().map(|(_, p)| *p).collect();
    let corrected = holm(&chances).expect("chances are finite");
    tested.into_iter().zip(corrected).for_each(|((place, _), p)| *place = Some(p));
}

/// A chance, in as many digits as matter.
fn chance(p: f64) -> String {
    if p < 1e-4 { "<0.0001".into() } else { format!("{p:.4}") }
}

/// What a reader must know beside the numbers.
fn notes(plan: &Plan, lines: &[Line]) -> Vec<String> {
    let mut notes = vec![
        "ours: mean ± standard deviation of n seeds; p: unpaired t test against our GAT, and corrected after Holm for the models of a dataset; ** p < 0.0001, * p < 0.0005, ↓ worse at p < 0.05."
            .to_owned(),
        "within, outside: whether the means differ by at most 1.0, or twice the paper's deviation where that is more; numbers that the paper \
         reprints from others are not judged."
            .to_owned(),
        match plan.splits {
            Splits::Published => format!("all seeds on the split of the paper's table ({}).", plan.table.split),
            Splits::Random { seed } => {
                format!("all seeds on random split {seed}, which is not the paper's: means move by a point or two.")
            }
            Splits::Redrawn => {
                "seed s on random split s, while the paper has one split: means move by a point or two, and spread more.".into()
            }
        },
    ];
    for dataset in &plan.table.datasets {
        let missing = |line: &Line| line.dataset == *dataset && line.wanted > 0 && line.ours.is_none();
        if lines.iter().any(missing) && registry::local_folder(dataset).is_none() {
            notes.push(format!("{dataset} is not on this machine: `supergat download {dataset}` fetches it."));
        }
    }
    if plan.table.split == SplitChoice::FullSupervised.to_string() {
        notes.push(
            "GAT and SuperGAT with the paper's settings of CGAT, lambda_e 1, p_e 0.8 and p_n 0.5, since their own for full supervision are not known."
                .to_owned(),
        );
    }
    let general = lines.iter().filter(|line| line.ours.is_some() && !has_preset(line));
    let general: Vec<String> = general.map(|line| format!("{} on {}", line.name, line.dataset)).collect();
    if !general.is_empty() {
        notes.push(format!("general settings, since the paper's are not known: {}.", general.join(", ")));
    }
    notes
}

fn has_preset(line: &Line) -> bool {
    let model = line.model.as_deref().and_then(|model| model.parse().ok());
    model.is_some_and(|model| Settings::published(&line.dataset, model).is_some())
}

impl Line {
    fn difference(&self) -> Option<f64> {
        Some(self.ours.as_ref()?.mean - self.paper?.mean)
    }

    fn count(&self) -> usize {
        self.ours.as_ref().map_or(0, |ours| ours.values.len())
    }

    fn texts(&self) -> Vec<String> {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let n = if self.count() == self.wanted {
            self.wanted.to_string()
        } else {
            format!("{}/{}", self.count(), self.wanted)
        };
        vec![
            self.dataset.clone(),
            self.name.clone(),
            or_none(self.ours.as_ref().map(|ours| match ours.values.len() {
                1 => format!("{:.2}", ours.mean),
                _ => format!("{:.2} ± {:.2}", ours.mean, ours.std),
            })),
            if self.wanted == 0 { "-".into() } else { n },
            or_none(self.paper.map(|paper| match paper.std {
                Some(std) => format!("{:.1} ± {std:.1}", paper.mean),
                None => format!("{:.1}", paper.mean),
            })),
            or_none(self.difference().map(|difference| format!("{difference:+.2}"))),
            or_none(self.against_gat.map(|mark| chance(mark.test.p))),
            or_none(self.holm.map(chance)),
            self.against_gat.map(|mark| mark.to_string()).unwrap_or_default(),
            self.verdict.text(),
        ]
    }

    fn csv(&self) -> Vec<String> {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let interval = self.ours.as_ref().and_then(|ours| ours.interval().ok());
        vec![
            self.dataset.clone(),
            self.model.clone().unwrap_or_default(),
            self.name.clone(),
            number(self.ours.as_ref().map(|ours| ours.mean)),
            number(self.ours.as_ref().map(|ours| ours.std)),
            number(interval.map(|interval| interval.low)),
            number(interval.map(|interval| interval.high)),
            self.count().to_string(),
            self.wanted.to_string(),
            number(self.paper.map(|paper| paper.mean)),
            number(self.paper.and_then(|paper| paper.std)),
            number(self.difference()),
            number(self.against_gat.map(|mark| mark.test.p)),
            number(self.holm),
            self.against_gat.map(|mark| mark.to_string()).unwrap_or_default(),
            self.verdict.text(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::paper::tables;
    use crate::sweep::line_of;
    use supergat_core::Score;

    fn plan(seeds: u64) -> Plan {
        let mut plan = Plan::new(tables().remove(0), Splits::Published, Some(seeds)).unwrap();
        plan.keep_datasets(&["cora".into()]);
        plan
    }

    /// A line of a results file for a job, with a test metric.
    fn line(job: &Job, metric: f64) -> String {
        line_of(job, Score { loss: 0.5, metric }, metric)
    }

    fn table(plan: &Plan, lines: &[String]) -> Table {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines.concat()).unwrap();
        Table::new(plan, &ResultsFile::read(file.path()).unwrap())
    }

    #[test]
    fn numbers_stand_beside_the_printed_ones() {
        let plan = plan(4);
        // A different metric for every model and seed.
        let metric = |job: &Job| match job.settings.model.to_string().as_str() {
            "supergat-mx" => 0.845 + job.seed as f64 / 1000.0,
            "supergat-sd" => 0.80 + job.seed as f64 / 1000.0,
            _ => 0.81 + job.seed as f64 / 1000.0,
        };
        let mut lines: Vec<String> = plan.jobs().iter().map(|job| line(job, metric(job))).collect();
        let made = table(&plan, &lines);
        let of = |name: &str| made.lines.iter().find(|line| line.name == name).unwrap().clone();
        let mx = of("SuperGAT-MX");
        assert!((mx.ours.as_ref().unwrap().mean - 84.65).abs() < 1e-9);
        assert_eq!((mx.count(), mx.wanted, mx.verdict), (4, 4, Verdict::Within(1.2)));
        assert_eq!(mx.against_gat.unwrap().to_string(), "**");
        let chances = made.lines.iter().filter_map(|line| Some((line.against_gat?.test.p, line.holm?)));
        let chances: Vec<(f64, f64)> = chances.collect();
        let least = chances.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        assert!((least.1 - least.0 * chances.len() as f64).abs() < 1e-15, "the least is multiplied by their number");
        assert_eq!(mx.texts()[2..6], ["84.65 ± 0.13", "4", "84.3 ± 0.6", "+0.35"].map(String::from));
        assert_eq!(of("SuperGAT-SD").verdict, Verdict::Outside(1.2));
        assert_eq!(of("SuperGAT-SD").against_gat.unwrap().to_string(), "↓");
        assert_eq!((of("GAT").verdict, of("GAT").against_gat), (Verdict::Reprinted, None));
        assert_eq!((of("LDS").verdict, of("LDS").wanted), (Verdict::Reprinted, 0));
        lines.reverse();
        assert_eq!(table(&plan, &lines), made, "the order of lines makes no difference");

        let mut redrawn = plan;
        redrawn.splits = Splits::Redrawn;
        let lines: Vec<String> = redrawn.jobs().iter().map(|job| line(job, metric(job))).collect();
        let mx = table(&redrawn, &lines).lines.into_iter().find(|line| line.name == "SuperGAT-MX").unwrap();
        assert_eq!((mx.count(), mx.verdict), (4, Verdict::OtherSplits));
    }

    #[test]
    fn what_is_missing_is_said() {
        let plan = plan(4);
        let some: Vec<String> = plan.jobs().iter().filter(|job| job.seed < 2).map(|job| line(job, 0.8)).collect();
        let sage = table(&plan, &some).lines.into_iter().find(|line| line.name == "GraphSAGE").unwrap();
        assert_eq!(sage.texts()[3], "2/4");
        let none = table(&plan, &[]);
        let sage = none.lines.iter().find(|line| line.name == "GraphSAGE").unwrap();
        assert_eq!((sage.texts()[2].as_str(), sage.verdict), ("-", Verdict::Missing));
        assert!(sage.csv()[3].is_empty());
    }

    #[test]
    fn models_without_a_row_get_one() {
        let mut plan = plan(1);
        plan.keep_models(&["mlp".into(), "gat-go".into()]);
        let models: Vec<_> = plan.jobs().iter().map(|job| job.settings.model.to_string()).collect();
        assert_eq!(models, ["gat-go", "mlp"]);
        let lines: Vec<String> = plan.jobs().iter().map(|job| line(job, 0.5)).collect();
        let made = table(&plan, &lines);
        let mlp = made.lines.iter().find(|line| line.name == "mlp").unwrap();
        assert_eq!(mlp.verdict, Verdict::NotPrinted);
        assert!(made.notes.iter().any(|note| note.contains("general settings") && note.contains("mlp on cora")));
    }
}
