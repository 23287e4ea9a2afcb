//! `clearway policy bench`: how long constraints take to evaluate objects.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clearway_policy::{Constraint, EnforcementPoint, Evaluator, Inventory, Review, Reviewer, Source, Template};
use serde_json::{Value, json};

use super::{files, worker};
use crate::arguments::PolicyBench;
use crate::exit::Exit;
use crate::output::{self, Document};

/// Runs the command.
pub(super) fn run(options: &PolicyBench) -> Result<Exit> {
    let all = files::read_objects(&options.files)?;
    let start = Instant::now();
    let policies = files::load(&all, false)?;
    let loading = start.elapsed();
    let objects: Vec<&Value> = all
        .iter()
        .map(|(_, object)| object)
        .filter(|object| !Template::is_template(object) && !Constraint::is_constraint(object))
        .collect();
    if objects.is_empty() {
        bail!("the files have no objects to evaluate; add them with -f");
    }
    let inventory = Inventory::of(objects.iter().copied())?;
    let budget = worker::budget(&options.limits);
    let reviewer = Reviewer { point: EnforcementPoint::Gator, inventory: &inventory, budget: &budget };
    let mut evaluator = Evaluator::new();
    let mut times: Vec<Duration> = Vec::new();
    let mut violations = 0_usize;
    for object in &objects {
        for round in 0..options.warmup.saturating_add(options.iterations) {
            let start = Instant::now();
            // What is measured begins with the object, as it does in an audit.
            let review = Review::of_object(object, Source::Original);
            let results =
                worker::watched(&super::test::name(object), || policies.review(&review, &reviewer, &mut evaluator))?;
            if round >= options.warmup {
                times.push(start.elapsed());
                violations = violations.saturating_add(results.len());
            }
        }
    }
    times.sort();
    let total: Duration = times.iter().sum();
    let at = |share: usize| {
        let place = times.len().saturating_mul(share) / 100;
        times.get(place.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
    };
    let micros = |duration: Duration| (duration.as_secs_f64() * 1e7).round() / 10.0;
    let mean = total.checked_div(u32::try_from(times.len()).unwrap_or(u32::MAX)).unwrap_or_default();
    let data = json!({
        "templates": policies.templates().count(),
        "constraints": policies.constraints().count(),
        "objects": objects.len(),
        "evaluations": times.len(),
        "violations": violations,
        "loadMicroseconds": micros(loading),
        "microseconds": {
            "min": micros(at(0)), "median": micros(at(50)), "p99": micros(at(99)), "max": micros(at(100)), "mean": micros(mean),
        },
    });
    output::print_data(options.output.format, &data, || {
        let rows = [("min", at(0)), ("median", at(50)), ("p99", at(99)), ("max", at(100)), ("mean", mean)];
        let rows = rows.map(|(name, duration)| vec![name.to_owned(), format!("{:.1}", micros(duration))]);
        let mut text = Document::from(format!(
            "{} objects, {} constraints, {} evaluations, {violations} violations, loaded in {:.1} us\n",
            objects.len(),
            policies.constraints().count(),
            times.len(),
            micros(loading),
        ));
        text.push_table(output::table(&["OBJECT", "MICROSECONDS"], rows));
        text
    })?;
    Ok(Exit::Yes)
}
