//! `clearway bundle convert`: objects in another API version of their CRDs, and what is lost on the way (V5).

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use clearway_bundle::{Bundle, BundleLimits, BundleReader, ConversionLoss, ConversionLossKind, Crd, ObjectConverter};
use clearway_core::{Diagnostic, Limits, ObjectReference, Place, Severity, split_api_version};
use clearway_sources::store::Store as _;
use clearway_yaml::ReadEvent;
use serde::Serialize;
use serde_json::{Value, json};

use super::{installed, source};
use crate::arguments::{BundleConvert, BundleConvertFormat, DataFormat};
use crate::exit::Exit;
use crate::output::{self, Table};

/// The code of a value that does not survive.
const LOST: &str = "V5";

/// An object of the input.
struct InputObject {
    object: Value,
    place: Place,
}

/// One line of the report: an object and what became of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectReport {
    object: String,
    #[serde(rename = "where")]
    place: Place,
    from: String,
    to: String,
    /// What is dropped or refused.
    losses: Vec<ConversionLoss>,
    /// Why a person has to look at it.
    review: Vec<String>,
}

pub(super) fn run(options: &BundleConvert) -> Result<Exit> {
    let (objects, is_complete) = read_objects(options)?;
    anyhow::ensure!(!objects.is_empty(), "{} has no objects", options.objects);
    let bundle = crds(options, &objects)?;
    let by_kind: BTreeMap<(&str, &str), &Crd> =
        bundle.crds.values().map(|crd| ((crd.group.as_str(), crd.kind.as_str()), crd)).collect();
    let mut by_crd = BTreeMap::new();
    let (mut results, mut reports) = (Vec::new(), Vec::new());
    for InputObject { object, place } in objects {
        let kind = object["kind"].as_str().unwrap_or_default();
        let (group, from) = split_api_version(object["apiVersion"].as_str().unwrap_or_default());
        let name = ObjectReference::of(&object).map_or_else(|_| kind.to_owned(), |reference| reference.to_string());
        let mut report = ObjectReport {
            object: name,
            place,
            from: from.to_owned(),
            to: from.to_owned(),
            losses: Vec::new(),
            review: Vec::new(),
        };
        let Some(crd) = by_kind.get(&(group, kind)).copied() else {
            report.review.push(format!("no CRD for {kind}.{group} was found; the object was not converted"));
            reports.push(report);
            results.push(object);
            continue;
        };
        let converter = by_crd.entry(crd.name.as_str()).or_insert_with(|| ObjectConverter::new(crd, &options.to));
        match converter {
            Ok(converter) => {
                let outcome = converter.convert(&object);
                report.to.clone_from(&options.to);
                report.losses = outcome.losses;
                report.review.extend(outcome.unchecked.iter().map(|one| format!("not checked: {one}")));
                if !converter.is_served() {
                    report.review.push(format!("{} does not serve {}", crd.name, options.to));
                }
                results.push(outcome.object);
            }
            Err(error) => {
                report.review.push(error.to_string());
                results.push(object);
            }
        }
        reports.push(report);
    }
    print(options, &results, &reports)?;
    Ok(if reports.iter().any(|report| !report.losses.is_empty()) {
        Exit::No
    } else if !is_complete || source::is_incomplete(&bundle) || reports.iter().any(|one| !one.review.is_empty()) {
        Exit::Unknown
    } else {
        Exit::Yes
    })
}

/// The objects that are to be converted, and whether all of the input could be read.
fn read_objects(options: &BundleConvert) -> Result<(Vec<InputObject>, bool)> {
    let files = source::read_files(&[&options.objects], &options.reading)?;
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    for (_, files) in files {
        problems.extend(files.problems);
        for (file, content) in &files.files {
            clearway_yaml::read(content.as_slice(), file, &Limits::default(), |event| match event {
                ReadEvent::Object { root, source, .. } => {
                    objects.push(InputObject { object: root.to_json(), place: source.place(root) });
                }
                ReadEvent::Problem(problem) => problems.push(problem),
            });
        }
    }
    for problem in &problems {
        output::print_diagnostic(problem);
    }
    Ok((objects, problems.iter().all(|problem| problem.severity != Severity::Error)))
}

/// The CRDs: those of a bundle, or those of the cluster that define the kinds of the objects.
fn crds(options: &BundleConvert, objects: &[InputObject]) -> Result<Bundle> {
    if let Some(name) = &options.crds {
        return Ok(source::read(&[name], &options.reading)?.pop().unwrap_or_default());
    }
    let kinds: BTreeSet<(&str, &str)> = objects
        .iter()
        .map(|one| {
            let (group, _) = split_api_version(one.object["apiVersion"].as_str().unwrap_or_default());
            (group, one.object["kind"].as_str().unwrap_or_default())
        })
        .collect();
    source::wait(async {
        let store = installed::connect(&options.connection).await?;
        let mut reader = BundleReader::new("the cluster", "", BundleLimits::default());
        for crd in store.list(&installed::crd_kind(), "").await? {
            let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            if kinds.contains(&(text("/spec/group"), text("/spec/names/kind"))) {
                reader.add_object(&crd);
            }
        }
        Ok(reader.finish())
    })
}

fn print(options: &BundleConvert, results: &[Value], reports: &[ObjectReport]) -> Result<()> {
    match options.output {
        BundleConvertFormat::Yaml => {
            for object in results {
                output::print_document(&format!("---\n{}", output::to_yaml(object)?))?;
            }
            for report in reports {
                report.diagnostics().iter().for_each(output::print_diagnostic);
            }
        }
        BundleConvertFormat::Json => {
            let data = json!({"objects": results, "reports": reports});
            output::print_document(&(output::to_json(&data)? + "\n"))?;
        }
        BundleConvertFormat::Table => output::print_data(DataFormat::Table, &(), || table(reports))?,
        BundleConvertFormat::Wide => output::print_data(DataFormat::Wide, &(), || table(reports))?,
    }
    let losses: usize = reports.iter().map(|report| report.losses.len()).sum();
    let review = reports.iter().filter(|report| !report.review.is_empty()).count();
    output::print_note!("objects: {}; values lost: {losses}; objects to review: {review}", reports.len());
    Ok(())
}

impl ObjectReport {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        let place = |path: Option<&str>| Place {
            object: Some(self.object.clone()),
            path: path.filter(|path| !path.is_empty()).map(str::to_owned),
            ..self.place.clone()
        };
        let losses = self.losses.iter().map(|loss| {
            let message = format!("`{}` is {}: {}", loss.path, verb(loss.kind), loss.message);
            Diagnostic::new(LOST, Severity::Error, message).at(place(Some(&loss.path)))
        });
        let review =
            self.review.iter().map(|why| Diagnostic::new(LOST, Severity::Warning, why.clone()).at(place(None)));
        losses.chain(review).collect()
    }
}

fn verb(kind: ConversionLossKind) -> &'static str {
    match kind {
        ConversionLossKind::Dropped => "dropped",
        ConversionLossKind::Refused => "refused",
    }
}

/// One line for each loss, and for each object without one.
fn table(reports: &[ObjectReport]) -> Table {
    let rows = reports.iter().flat_map(|report| {
        let row = |result: &str, path: &str, why: &str| {
            let step = format!("{} → {}", report.from, report.to);
            vec![report.object.clone(), step, result.to_owned(), path.to_owned(), why.to_owned()]
        };
        let losses = report.losses.iter().map(|loss| row(verb(loss.kind), &loss.path, &loss.message));
        let review = report.review.iter().map(|why| row("needs review", "", why));
        let mut rows: Vec<Vec<String>> = losses.chain(review).collect();
        if rows.is_empty() {
            rows.push(row("complete", "", ""));
        }
        rows
    });
    output::table(&["OBJECT", "VERSION", "RESULT", "FIELD", "WHY"], rows)
}
