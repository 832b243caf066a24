//! Our numbers beside the printed ones.

use crate::reproduce::paper::{PaperRow, PrintedNumber};
use crate::reproduce::plan::{Splits, TablePlan};
use crate::reproduce::verdict::Verdict;
use supergat_data::{SplitChoice, registry};
use supergat_figure::sheet::{Sheet, exact, or_dash, p_value};
use supergat_numerics::statistics::{Mark, Summary, holm, mark};
use supergat_select::sweep::{Job, RecordIndex, ResultsFile};
use supergat_train::settings::Settings;
use supergat_train::task::NODE;

/// Model that every other model is compared with.
pub(super) const REFERENCE: &str = "gat-go";

const CSV_HEADER: &str =
    "dataset,model,name,mean,std,low,high,n,wanted,paper_mean,paper_std,difference,p_against_gat,p_holm,mark,verdict";

/// A reproduced table of the paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name on the command line.
    pub id: String,
    /// Rows, grouped by dataset.
    pub rows: Vec<TableRow>,
    title: String,
    notes: Vec<String>,
}

/// Results of a model on a dataset, beside the printed ones.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRow {
    /// Dataset.
    pub dataset: String,
    /// Model name in the paper.
    pub name: String,
    /// Model name in this program; `None` if this program does not have the model.
    pub model: Option<String>,
    /// Our test metrics, in the order of the seeds.
    pub ours: Option<Summary>,
    /// Number of requested runs.
    pub wanted: usize,
    /// Printed number.
    pub paper: Option<PrintedNumber>,
    /// The paper's significance test, applied to our results and our results of GAT.
    pub against_gat: Option<Mark>,
    /// p-value of that test after Holm's correction over all models of the dataset.
    pub holm: Option<f64>,
    /// Agreement of the two numbers.
    pub verdict: Verdict,
}

impl Table {
    /// Builds the table from a results file. It does not depend on the order of lines or on durations.
    pub fn new(plan: &TablePlan, results: &ResultsFile) -> Self {
        let index = RecordIndex::new(NODE, results.records());
        let paper = &plan.table;
        let rows = paper.datasets.iter().flat_map(|dataset| rows(plan, dataset, &index)).collect::<Vec<_>>();
        let notes = notes(plan, &rows);
        Self { id: paper.id.clone(), rows, title: paper.title.clone(), notes }
    }

    /// Returns the table as text.
    pub fn sheet(&self) -> Sheet {
        let header = ["dataset", "model", "ours", "n", "paper", "difference", "p", "p (Holm)", "mark", "verdict"];
        Sheet::new(&self.title, header, self.rows.iter().map(|row| (row.verdict.tone(), row.texts())))
            .with_unit("in percent")
            .with_csv(CSV_HEADER, self.rows.iter().map(TableRow::csv))
            .with_notes(&self.notes)
    }
}

/// Builds the rows of a dataset.
fn rows(plan: &TablePlan, dataset: &str, index: &RecordIndex<'_>) -> Vec<TableRow> {
    let found = |job: &Job| Some(index.find(job)?.test()?.metric);
    let values = |row: &PaperRow| plan.cell(row, dataset).iter().filter_map(found).collect::<Vec<f64>>();
    let reference = plan.table.rows.iter().find(|row| row.model.as_deref() == Some(REFERENCE)).map(values);
    let table_row = |row: &PaperRow| {
        let ours = Some(values(row)).filter(|values| !values.is_empty()).map(Summary::of);
        let against_gat = match (&ours, &reference) {
            (Some(ours), Some(gat)) if row.model.as_deref() != Some(REFERENCE) => mark(&ours.values, gat).ok(),
            _ => None,
        };
        let paper = row.cells.get(dataset).copied();
        let verdict = match Verdict::compare(ours.as_ref(), paper, row.reprinted) {
            judged @ (Verdict::Missing | Verdict::NotPrinted | Verdict::Reprinted) => judged,
            _ if plan.splits != Splits::Published => Verdict::OtherSplits,
            judged => judged,
        };
        TableRow {
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
    let rows = plan.table.rows.iter().map(table_row);
    let mut rows: Vec<TableRow> = rows.filter(|row| row.paper.is_some() || row.wanted > 0).collect();
    apply_holm(&mut rows);
    rows
}

/// Sets the Holm-corrected p-values of the rows of a dataset.
fn apply_holm(rows: &mut [TableRow]) {
    let tested: Vec<(&mut Option<f64>, f64)> =
        rows.iter_mut().filter_map(|row| Some((&mut row.holm, row.against_gat?.test.p))).collect();
    let p_values: Vec<f64> = tested.iter().map(|(_, p)| *p).collect();
    let corrected = holm(&p_values).expect("p-values are finite");
    tested.into_iter().zip(corrected).for_each(|((corrected, _), p)| *corrected = Some(p));
}

/// Returns the notes below the table.
fn notes(plan: &TablePlan, rows: &[TableRow]) -> Vec<String> {
    let mut notes = vec![
        "ours: mean ± standard deviation over n seeds; p: unpaired t-test against our GAT; p (Holm): corrected for the number of models of the dataset; ** p < 0.0001, * p < 0.0005, ↓ worse at p < 0.05."
            .to_owned(),
        "within, outside: whether the means differ by at most 1.0, or twice the paper's standard deviation if that is \
         larger. Numbers that the paper reprints from other papers have a tolerance of 2.0 or more."
            .to_owned(),
        match plan.splits {
            Splits::Published => format!("all seeds on the split of the paper's table ({}).", plan.table.split),
            Splits::Random { seed } => {
                format!("all seeds on random split {seed}, which is not the paper's: means may differ by a point or two.")
            }
            Splits::Redrawn => {
                "seed s on random split s, while the paper has one split: means may differ by a point or two, and \
                 deviations are larger."
                    .into()
            }
        },
    ];
    for dataset in &plan.table.datasets {
        let missing = |row: &TableRow| row.dataset == *dataset && row.wanted > 0 && row.ours.is_none();
        if rows.iter().any(missing) && registry::local_folder(dataset).is_none() {
            notes.push(format!("{dataset} is not on this machine: `supergat download {dataset}` fetches it."));
        }
    }
    if plan.table.split == SplitChoice::FullSupervised.to_string() {
        notes.push(
            "GAT and SuperGAT use the paper's settings of CGAT with lambda_e 1, p_e 0.8 and p_n 0.5: their own settings for \
             full supervision are not published."
                .to_owned(),
        );
    }
    let general = rows.iter().filter(|row| row.ours.is_some() && !has_preset(row));
    let general: Vec<String> = general.map(|row| format!("{} on {}", row.name, row.dataset)).collect();
    if !general.is_empty() {
        notes.push(format!("general settings, since the paper's are not published: {}.", general.join(", ")));
    }
    notes
}

fn has_preset(row: &TableRow) -> bool {
    let model = row.model.as_deref().and_then(|model| model.parse().ok());
    model.is_some_and(|model| Settings::published(&row.dataset, model).is_some())
}

/// Formats a summary as mean and standard deviation; a single value has none.
pub(super) fn mean_and_deviation(summary: &Summary) -> String {
    match summary.values.len() {
        1 => format!("{:.2}", summary.mean),
        _ => format!("{:.2} ± {:.2}", summary.mean, summary.std),
    }
}

impl TableRow {
    fn difference(&self) -> Option<f64> {
        Some((self.ours.as_ref()?.in_percent().mean - self.paper?.in_percent().mean) / 100.0)
    }

    fn count(&self) -> usize {
        self.ours.as_ref().map_or(0, |ours| ours.values.len())
    }

    fn texts(&self) -> Vec<String> {
        let n = if self.count() == self.wanted {
            self.wanted.to_string()
        } else {
            format!("{}/{}", self.count(), self.wanted)
        };
        vec![
            self.dataset.clone(),
            self.name.clone(),
            or_dash(self.ours.as_ref().map(|ours| mean_and_deviation(&ours.in_percent()))),
            if self.wanted == 0 { "-".into() } else { n },
            or_dash(self.paper.map(|paper| paper.in_percent().to_string())),
            or_dash(self.difference().map(|difference| format!("{:+.2}", 100.0 * difference))),
            or_dash(self.against_gat.map(|mark| p_value(mark.test.p))),
            or_dash(self.holm.map(p_value)),
            self.against_gat.map(|mark| mark.to_string()).unwrap_or_default(),
            self.verdict.text(),
        ]
    }

    fn csv(&self) -> Vec<String> {
        let interval = self.ours.as_ref().and_then(|ours| ours.interval().ok());
        vec![
            self.dataset.clone(),
            self.model.clone().unwrap_or_default(),
            self.name.clone(),
            exact(self.ours.as_ref().map(|ours| ours.mean)),
            exact(self.ours.as_ref().map(|ours| ours.std)),
            exact(interval.map(|interval| interval.low)),
            exact(interval.map(|interval| interval.high)),
            self.count().to_string(),
            self.wanted.to_string(),
            exact(self.paper.map(|paper| paper.mean)),
            exact(self.paper.and_then(|paper| paper.std)),
            exact(self.difference()),
            exact(self.against_gat.map(|mark| mark.test.p)),
            exact(self.holm),
            self.against_gat.map(|mark| mark.to_string()).unwrap_or_default(),
            self.verdict.exact(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::line_of;
    use crate::reproduce::paper::tables;
    use supergat_core::Score;

    fn plan(seeds: u64) -> TablePlan {
        let mut plan = TablePlan::new(tables().remove(0), Splits::Published, Some(seeds)).unwrap();
        plan.keep_datasets(&["cora".into()]);
        plan
    }

    /// Returns the line of a results file for a job with a test metric.
    fn line(job: &Job, metric: f64) -> String {
        line_of(job, Score { loss: 0.5, metric }, metric)
    }

    fn table(plan: &TablePlan, lines: &[String]) -> Table {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines.concat()).unwrap();
        Table::new(plan, &ResultsFile::read(file.path()).unwrap())
    }

    #[test]
    fn compares_results_with_printed_numbers() {
        let plan = plan(4);
        let metric = |job: &Job| match job.settings.model.to_string().as_str() {
            "supergat-mx" => 0.845 + job.seed as f64 / 1000.0,
            "supergat-sd" => 0.80 + job.seed as f64 / 1000.0,
            _ => 0.81 + job.seed as f64 / 1000.0,
        };
        let mut lines: Vec<String> = plan.jobs().iter().map(|job| line(job, metric(job))).collect();
        let reproduced = table(&plan, &lines);
        let of = |name: &str| reproduced.rows.iter().find(|row| row.name == name).unwrap().clone();
        let mx = of("SuperGAT-MX");
        assert!((mx.ours.as_ref().unwrap().mean - 0.8465).abs() < 1e-9);
        assert_eq!((mx.count(), mx.wanted, mx.verdict), (4, 4, Verdict::Within(0.012)));
        assert_eq!(mx.against_gat.unwrap().to_string(), "**");
        let p_values = reproduced.rows.iter().filter_map(|row| Some((row.against_gat?.test.p, row.holm?)));
        let p_values: Vec<(f64, f64)> = p_values.collect();
        let least = p_values.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        assert!((least.1 - least.0 * p_values.len() as f64).abs() < 1e-15, "the least is multiplied by their number");
        assert_eq!(mx.texts()[2..6], ["84.65 ± 0.13", "4", "84.3 ± 0.6", "+0.35"].map(String::from));
        assert_eq!(of("SuperGAT-SD").verdict, Verdict::Outside(0.012));
        assert_eq!(of("SuperGAT-SD").against_gat.unwrap().to_string(), "↓");
        assert_eq!((of("GAT").verdict, of("GAT").against_gat), (Verdict::ReprintedWithin(0.02), None));
        assert_eq!((of("LDS").verdict, of("LDS").wanted), (Verdict::ReprintedOutside(0.02), 4));
        lines.reverse();
        assert_eq!(table(&plan, &lines), reproduced, "the order of lines does not matter");

        let mut redrawn = plan;
        redrawn.splits = Splits::Redrawn;
        let lines: Vec<String> = redrawn.jobs().iter().map(|job| line(job, metric(job))).collect();
        let mx = table(&redrawn, &lines).rows.into_iter().find(|row| row.name == "SuperGAT-MX").unwrap();
        assert_eq!((mx.count(), mx.verdict), (4, Verdict::OtherSplits));
    }

    #[test]
    fn reports_missing_runs() {
        let plan = plan(4);
        let some: Vec<String> = plan.jobs().iter().filter(|job| job.seed < 2).map(|job| line(job, 0.8)).collect();
        let sage = table(&plan, &some).rows.into_iter().find(|row| row.name == "GraphSAGE").unwrap();
        assert_eq!(sage.texts()[3], "2/4");
        let none = table(&plan, &[]);
        let sage = none.rows.iter().find(|row| row.name == "GraphSAGE").unwrap();
        assert_eq!((sage.texts()[2].as_str(), sage.verdict), ("-", Verdict::Missing));
        assert!(sage.csv()[3].is_empty());
    }

    #[test]
    fn adds_rows_for_models_not_in_the_table() {
        let mut plan = plan(1);
        plan.keep_models(&["mlp".into(), "gat-go".into()]);
        let models: Vec<_> = plan.jobs().iter().map(|job| job.settings.model.to_string()).collect();
        assert_eq!(models, ["gat-go", "mlp"]);
        let lines: Vec<String> = plan.jobs().iter().map(|job| line(job, 0.5)).collect();
        let reproduced = table(&plan, &lines);
        let mlp = reproduced.rows.iter().find(|row| row.name == "mlp").unwrap();
        assert_eq!(mlp.verdict, Verdict::NotPrinted);
        assert!(reproduced.notes.iter().any(|note| note.contains("general settings") && note.contains("mlp on cora")));
    }
}
