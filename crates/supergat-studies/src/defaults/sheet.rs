//! Results of the study of defaults as text tables.

use crate::defaults::table::{CandidateResult, DefaultsStudy, FamilyDefaults, Gain, GraphResult, Rule, RuleResult};
use crate::defaults::traits::TRAITS;
use crate::defaults::tree::Tree;
use supergat_core::words::count;
use supergat_figure::Tone;
use supergat_figure::sheet::{Sheet, exact, or_dash};
use supergat_numerics::statistics::{Interval, Summary};

/// Returns the name of a rule.
fn name(rule: &Rule) -> String {
    match rule {
        Rule::Measured => "best on validation nodes".into(),
        Rule::Recommended => "answer of recommend".into(),
        Rule::Recipe => "recipe of traits".into(),
        Rule::Always(family) => format!("always {family}"),
    }
}

/// Returns how rules that name a family do on graphs that they have not seen.
pub fn rules(study: &DefaultsStudy) -> Sheet {
    let share = |result: &RuleResult| result.not_worse() as f64 / result.worse.len().max(1) as f64;
    let regrets = |result: &RuleResult| {
        let worst = result.regrets.iter().copied().fold(0.0, f64::max);
        [result.median(), Summary::of(result.regrets.clone()).mean, worst]
    };
    let row = |result: &RuleResult| {
        let mut row = vec![
            name(&result.rule),
            format!("{} of {}", result.not_worse(), result.worse.len()),
            format!("{:.0} %", 100.0 * share(result)),
        ];
        row.extend(regrets(result).map(|regret| format!("{:.2}", 100.0 * regret)));
        (Tone::Plain, row)
    };
    let numbers = |result: &RuleResult| {
        let mut row = vec![name(&result.rule), result.not_worse().to_string(), result.worse.len().to_string()];
        row.push(share(result).to_string());
        row.extend(regrets(result).map(|regret| regret.to_string()));
        row
    };
    let header = "rule,not worse,share,median regret,mean regret,largest regret";
    let notes = vec![
        format!(
            "{} graphs with {} splits each. Regret: test metric of the best family minus that of the named one, in \
             percentage points.",
            study.graphs.len(),
            study.plan.splits
        ),
        "Default settings and recipes are chosen without the graph on which they are judged, and without all graphs that \
         are derived from the same dataset."
            .into(),
        "not worse: the best family is not significantly better in a paired t-test over the splits, at level 0.05."
            .into(),
    ];
    let csv_header = "rule,not_worse,graphs,share,median_regret,mean_regret,largest_regret";
    Sheet::new("Rules that name a family", header.split(','), study.rules.iter().map(row))
        .with_csv(csv_header, study.rules.iter().map(numbers))
        .with_notes(notes)
}

/// Returns the mean regret of the candidates for default settings.
pub fn defaults(study: &DefaultsStudy) -> Sheet {
    let names = &study.plan.candidates;
    let chosen = || study.defaults.iter().filter(|found| found.regrets.len() > 1);
    let regrets = |found: &FamilyDefaults| -> Vec<Option<f64>> {
        let own = study.plan.candidates_of(&found.family);
        let place = |name: &String| own.iter().position(|candidate| candidate.name == name);
        names.iter().map(|name| place(name).map(|place| found.regrets[place])).collect()
    };
    let row = |found: &FamilyDefaults| {
        let text = |regret: f64| format!("{:.2}", 100.0 * regret);
        let mut row = vec![found.family.clone(), found.chosen.into()];
        row.extend(regrets(found).into_iter().map(|regret| or_dash(regret.map(text))));
        row.extend([text(found.held_out), format!("{} ({})", text(found.worst.0), found.worst.1)]);
        row.push(found.changes.to_string());
        (Tone::Plain, row)
    };
    let numbers = |found: &FamilyDefaults| {
        let mut row = vec![found.family.clone(), found.chosen.into()];
        row.extend(regrets(found).into_iter().map(exact));
        row.extend([found.held_out.to_string(), found.worst.0.to_string(), found.worst.1.clone()]);
        row.push(found.changes.to_string());
        row
    };
    let header = format!("family,chosen,{},held out,largest regret of the chosen,changes", names.join(","));
    let csv_header = format!("family,chosen,{},held_out,largest_regret,largest_on,changes", names.join(","));
    Sheet::new("Candidates for default settings", header.split(','), chosen().map(row))
        .with_csv(&csv_header, chosen().map(numbers))
        .with_notes([
            "Mean regret in percentage points: test metric of the family's best candidate on a graph minus that of the \
             candidate.",
            "held out: mean regret of the candidate that is chosen without the graph. changes: graphs without which \
             another candidate is chosen.",
        ])
}

/// Returns the test metric of every family on every graph, with defaults that were chosen over all graphs.
pub fn graphs(study: &DefaultsStudy) -> Sheet {
    let row = |result: &GraphResult, texts: fn(Option<&Summary>) -> Vec<String>| {
        let chosen = |(candidates, defaults): (&Vec<CandidateResult>, &FamilyDefaults)| {
            candidates.iter().find(|candidate| candidate.name == defaults.chosen).map(|found| found.test.clone())
        };
        let tests: Vec<Option<Summary>> = result.families.iter().zip(&study.defaults).map(chosen).collect();
        let mean = |family: &usize| tests[*family].as_ref().map_or(f64::NEG_INFINITY, |test| test.in_percent().mean);
        let best = (0..tests.len()).rev().max_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or(0);
        let mut row = vec![result.graph.name(), study.plan.families[best].clone()];
        row.extend(tests.iter().flat_map(|test| texts(test.as_ref())));
        row
    };
    let text = |test: Option<&Summary>| {
        let test = test.map(Summary::in_percent);
        vec![or_dash(test.map(|test| format!("{:.1} ± {:.1}", test.mean, test.std)))]
    };
    let numbers = |test: Option<&Summary>| vec![exact(test.map(|test| test.mean)), exact(test.map(|test| test.std))];
    let header = format!("graph,best,{}", study.plan.families.join(","));
    let columns: Vec<String> = study.plan.families.iter().map(|family| format!("{family},{family}_std")).collect();
    let csv_header = format!("graph,best,{}", columns.join(","));
    let rows = study.graphs.iter().map(|result| (Tone::Plain, row(result, text)));
    Sheet::new("Families on all graphs", header.split(','), rows)
        .with_csv(&csv_header, study.graphs.iter().map(|result| row(result, numbers)))
        .with_notes(["Test metric in percent with the chosen defaults, mean and deviation over splits."])
}

/// Returns how far the chosen defaults are ahead of the best other candidate, or behind it, on every graph.
pub fn costs(study: &DefaultsStudy) -> Sheet {
    let has_choice = |place: &usize| study.defaults[*place].regrets.len() > 1;
    let places: Vec<usize> = (0..study.defaults.len()).filter(has_choice).collect();
    let leads = |result: &GraphResult| -> Vec<f64> {
        let lead = |place: &usize| {
            let (chosen, others): (Vec<&CandidateResult>, Vec<_>) =
                result.families[*place].iter().partition(|candidate| candidate.name == study.defaults[*place].chosen);
            let best = |of: Vec<&CandidateResult>| {
                of.iter().map(|one| one.test.in_percent().mean).fold(f64::NEG_INFINITY, f64::max)
            };
            (best(chosen) - best(others)) / 100.0
        };
        places.iter().map(lead).collect()
    };
    let row = |result: &GraphResult, text: fn(f64) -> String| -> Vec<String> {
        [result.graph.name()].into_iter().chain(leads(result).into_iter().map(text)).collect()
    };
    let names = places.iter().map(|place| study.plan.families[*place].as_str());
    let header: Vec<&str> = ["graph"].into_iter().chain(names).collect();
    let csv_header = header.join(",");
    let rows = study.graphs.iter().map(|result| (Tone::Plain, row(result, |lead| format!("{:+.1}", 100.0 * lead))));
    Sheet::new("What the defaults cost", header, rows)
        .with_csv(&csv_header, study.graphs.iter().map(|result| row(result, |lead| lead.to_string())))
        .with_notes([
            "Test metric of the chosen default minus that of the best other candidate, in percentage points. What a \
             default costs is negative.",
        ])
}

/// Returns what self-supervision adds on every graph, with the traits of the graph.
pub fn gains(study: &DefaultsStudy) -> Sheet {
    let all = || study.gains.iter().zip(&study.graphs);
    let texts = |(gain, result): (&Gain, &GraphResult)| {
        let interval = gain.interval.map(Interval::in_percent);
        let interval = or_dash(interval.map(|found| format!("{:+.2} to {:+.2}", found.low, found.high)));
        let mut row = vec![gain.graph.clone(), format!("{:+.2}", 100.0 * gain.difference), interval];
        row.extend(result.traits.iter().map(|value| format!("{value:.2}")));
        (Tone::Plain, row)
    };
    let numbers = |(gain, result): (&Gain, &GraphResult)| {
        let [low, high] = [gain.interval.map(|found| found.low), gain.interval.map(|found| found.high)];
        let mut row = vec![gain.graph.clone(), gain.difference.to_string(), exact(low), exact(high)];
        row.extend(result.traits.iter().map(|value| value.to_string()));
        row
    };
    let header = format!("graph,gain,95 % interval,{}", TRAITS.join(","));
    let csv_header = format!("graph,gain,low,high,{}", TRAITS.join(","));
    let notes = vec![
        "Test metric of supergat-mx minus that of gat-mx, in percentage points.".into(),
        format!(
            "A tree of traits, grown without the graph and its relatives, is right about the sign on {} of {} graphs.",
            study.gain_hits,
            study.gains.len()
        ),
    ];
    Sheet::new("What self-supervision adds", header.split(','), all().map(texts))
        .with_csv(&csv_header, all().map(numbers))
        .with_notes(notes)
}

/// Returns the recipe as indented lines.
pub fn recipe(study: &DefaultsStudy) -> String {
    let families: Vec<&str> = study.plan.families.iter().map(String::as_str).collect();
    let mut text = lines(study.recipe.as_ref(), &families, 0);
    text.push('\n');
    text.push_str(&lines(study.gain_recipe.as_ref(), &["self-supervision does not help", "self-supervision helps"], 0));
    text
}

fn lines(tree: Option<&Tree>, options: &[&str], depth: usize) -> String {
    let indent = "  ".repeat(depth);
    match tree {
        None => String::new(),
        Some(Tree::Leaf { option, graphs }) => {
            format!("{indent}{} ({})\n", options[*option], count(*graphs, "graph"))
        }
        Some(Tree::Split(decision)) => {
            let (name, limit) = (TRAITS[decision.feature], digits(decision.at_most));
            let answer = |tree: &Tree| lines(Some(tree), options, depth + 1);
            format!(
                "{indent}{name} up to {limit}:\n{}{indent}{name} above {limit}:\n{}",
                answer(&decision.low),
                answer(&decision.high)
            )
        }
    }
}

/// Returns a number with about three digits.
fn digits(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
