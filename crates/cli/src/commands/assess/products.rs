//! `clearway assess --product`: products of the catalogue, each in the version that the cluster runs.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Result, bail};
use clearway_advice::{Assessment, Status, render};
use clearway_catalog::{CatalogEntry, Detection, Product, listed_version};
use clearway_core::{Version, humanize};
use serde::Serialize;

use super::opened_evidence::OpenedEvidence;
use super::{Answer, AssessmentPlan, answer_target, plan_view, status_exit};
use crate::arguments::{Assess, ClusterAccess, ProductSelection};
use crate::commands::catalog::source::{self, OpenedCatalog};
use crate::commands::graph::source::of_files;
use crate::exit::Exit;
use crate::output::{self, Document};

/// The columns of the list.
const HEAD: [&str; 7] = ["PRODUCT", "INSTALLED", "UPDATE", "RECOMMENDED", "REASON", "AGE", "RISKS"];

/// All products that were assessed.
#[derive(Debug, Serialize)]
struct Answers {
    /// The catalogue: `built-in`, a directory, or an image by its digest.
    catalog: String,
    products: Vec<ProductAnswer>,
}

/// What is known about one product.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProductAnswer {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    /// The installed version.
    #[serde(flatten)]
    detection: Detection,
    /// The release of the catalogue that stands for the installed version.
    #[serde(skip_serializing_if = "Option::is_none")]
    assessed_as: Option<Version>,
    /// Why there is no assessment although the version is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_assessed: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assessment: Option<Assessment>,
    /// Whether evidence that is needed could not be reached.
    #[serde(skip)]
    is_incomplete: bool,
}

/// A product with what there is to find out about it.
pub(crate) struct PlannedProduct {
    pub(crate) assessed_as: Version,
    pub(crate) planned: AssessmentPlan,
}

/// Runs the command.
pub(super) fn run(options: &Assess) -> Result<Exit> {
    let (selection, evidence) = (&options.products, &options.evidence);
    refuse_ambiguous(selection, &evidence.cluster, options.to.as_ref())?;
    if selection.is_several() && evidence.series.as_deref().is_some_and(|path| path.as_os_str() == "-") {
        bail!("--series - can be read for one product only; pass a file");
    }
    let opened = OpenedCatalog::beside(selection, &options.source)?;
    let selected = opened.select(selection)?;
    let mut given = OpenedEvidence::for_products(evidence, &options.source.trust)?;
    if options.why || options.to.is_some() {
        given = given.showing_values();
    }
    let detections = detect(&given, &selected, &evidence.cluster)?;
    if let (Some(to), [(_, entry)], Some(detection)) = (&options.to, selected.as_slice(), detections.first()) {
        return run_target(options, &given, entry, detection, to);
    }
    let mut products = Vec::new();
    for ((name, entry), detection) in selected.iter().zip(detections) {
        products.push(assess(name, entry, detection, &given, options)?);
    }
    let answers = Answers { catalog: opened.name.clone(), products };
    output::print_data(options.output.format, &answers, || answers.document(options.why))?;
    Ok(answers.exit())
}

/// Refuses options that are about one product where several are meant.
pub(crate) fn refuse_ambiguous(
    selection: &ProductSelection,
    access: &ClusterAccess,
    to: Option<&Version>,
) -> Result<()> {
    let given =
        [("--version", access.version.is_some()), ("--channel", access.channel.is_some()), ("--to", to.is_some())];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if selection.is_several() => bail!("{option} needs a single --product"),
        _ => Ok(()),
    }
}

/// The installed version of each product; a version that the options name is the installed one.
fn detect(
    given: &OpenedEvidence<'_>,
    selected: &[(&str, &CatalogEntry)],
    access: &ClusterAccess,
) -> Result<Vec<Detection>> {
    if let Some(version) = &access.version {
        let version = version.without_build();
        return Ok(vec![Detection::Installed { version, found_in: "--version".to_owned() }]);
    }
    let usable: Vec<&Product> = selected.iter().filter_map(|(_, entry)| source::usable(entry).ok()).collect();
    let mut found = given.installed(&usable)?.into_iter();
    let detection = |(_, entry): &(&str, &CatalogEntry)| match source::usable(entry) {
        Ok(_) => found.next().unwrap_or(Detection::Unknown { reason: "The product was not looked for.".to_owned() }),
        Err(why) => Detection::Unknown { reason: format!("The product cannot be used: {why}.") },
    };
    Ok(selected.iter().map(detection).collect())
}

/// The plan for the updates of a product in its installed version, or why there is none.
pub(crate) fn plan(
    entry: &CatalogEntry,
    installed: &Version,
    access: &ClusterAccess,
    id: Option<String>,
    max_age: Duration,
) -> Result<PlannedProduct, String> {
    let product = source::usable(entry)?;
    let channel = access.channel.as_deref().unwrap_or(&product.channel);
    let view = of_files(&entry.graph_data, Some(channel), access.arch.arch.as_ref());
    let view = view.map_err(|error| format!("{error:#}"))?;
    let listed: Vec<&Version> = view.graph.nodes().iter().map(|node| node.version()).collect();
    let Some(assessed_as) = listed_version(installed, listed.iter().copied()).cloned() else {
        let ends = listed.iter().min().zip(listed.iter().max());
        let known = ends.map_or_else(String::new, |(oldest, newest)| format!("; it lists {oldest} to {newest}"));
        return Err(format!(
            "the catalogue has no release of {} {}.{}{known}",
            product.title,
            installed.major(),
            installed.minor()
        ));
    };
    let planned = plan_view(view, &assessed_as, access, id, max_age).map_err(|error| format!("{error:#}"))?;
    Ok(PlannedProduct { assessed_as, planned })
}

fn assess(
    name: &str,
    entry: &CatalogEntry,
    detection: Detection,
    given: &OpenedEvidence<'_>,
    options: &Assess,
) -> Result<ProductAnswer> {
    let access = &options.evidence.cluster;
    let product = source::usable(entry).ok();
    let mut answer = ProductAnswer {
        name: name.to_owned(),
        url: product.map(|product| product.url.clone()),
        channel: access.channel.clone().or(product.map(|product| product.channel.clone())),
        detection,
        assessed_as: None,
        not_assessed: None,
        assessment: None,
        is_incomplete: false,
    };
    let Detection::Installed { version, .. } = &answer.detection else { return Ok(answer) };
    let id = access.cluster_id.clone().or(given.about()?.id);
    match plan(entry, version, access, id, options.evidence.time.max_age) {
        Err(reason) => answer.not_assessed = Some(reason),
        Ok(PlannedProduct { assessed_as, planned }) => {
            let AssessmentPlan { plan, id, .. } = &planned;
            let assessment = given.evaluate(plan, id.as_deref(), |evidence, now| plan.assess(evidence, now))?;
            let risks = assessment.updates.iter().flat_map(|update| &update.risks);
            answer.is_incomplete = given.report_unreachable(risks.map(AsRef::as_ref));
            answer.assessed_as = Some(assessed_as);
            answer.assessment = Some(assessment);
        }
    }
    Ok(answer)
}

/// `--to`: one update of one product, or the way to it.
fn run_target(
    options: &Assess,
    given: &OpenedEvidence<'_>,
    entry: &CatalogEntry,
    detection: &Detection,
    to: &Version,
) -> Result<Exit> {
    let access = &options.evidence.cluster;
    let installed = match detection {
        Detection::Installed { version, .. } => version,
        Detection::NotInstalled => {
            output::print_note!("the product is not installed");
            return Ok(Exit::No);
        }
        Detection::Unknown { reason } => {
            output::print_note!("{}", output::printable(reason));
            return Ok(Exit::Unknown);
        }
    };
    let id = access.cluster_id.clone().or(given.about()?.id);
    let planned = plan(entry, installed, access, id, options.evidence.time.max_age);
    let PlannedProduct { planned, .. } = planned.map_err(|reason| anyhow::anyhow!("{reason}"))?;
    let listed: Vec<&Version> = planned.view.graph.nodes().iter().map(|node| node.version()).collect();
    // A patch that is not listed is the release that stands for it.
    let to = listed_version(to, listed).unwrap_or(to).without_build();
    let answer = Answer { format: options.output.format, release: None, target: Some(to.to_string()) };
    answer_target(given, planned, &to, &answer)
}

impl ProductAnswer {
    fn exit(&self) -> Exit {
        let Some(assessment) = &self.assessment else {
            return if self.detection == Detection::NotInstalled { Exit::Yes } else { Exit::Unknown };
        };
        let any = |status| assessment.with_status(status).next().is_some();
        if self.is_incomplete {
            Exit::Unknown
        } else if any(Status::True) || assessment.updates.is_empty() {
            Exit::Yes
        } else {
            status_exit(if any(Status::Unknown) { Status::Unknown } else { Status::False })
        }
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |installed: &str, update: &str, rest: [&str; 4]| {
            let start = [self.name.as_str(), installed, update].into_iter();
            start.chain(rest).map(str::to_owned).collect::<Vec<String>>()
        };
        let installed = match &self.detection {
            Detection::Installed { version, .. } => version.to_string(),
            Detection::NotInstalled => return vec![row("-", "-", ["-", "NotInstalled", "-", ""])],
            Detection::Unknown { .. } => return vec![row("Unknown", "-", ["Unknown", "VersionUnknown", "-", ""])],
        };
        let Some(assessment) = &self.assessment else {
            return vec![row(&installed, "-", ["Unknown", "VersionNotListed", "-", ""])];
        };
        if assessment.updates.is_empty() {
            return vec![row(&installed, "-", ["-", "NewestListed", "-", ""])];
        }
        let rows = assessment.updates.iter().map(|update| {
            let risks: Vec<&str> = update.risks.iter().map(|risk| risk.name.as_str()).collect();
            let age = update.evidence_age().map_or_else(|| "-".to_owned(), humanize);
            let (version, status) = (update.version.to_string(), update.recommended.status.to_string());
            row(&installed, &version, [&status, &update.recommended.reason, &age, &risks.join(", ")])
        });
        rows.collect()
    }

    /// Why nothing is known about its updates, if that is so.
    fn reason(&self) -> Option<&str> {
        match &self.detection {
            Detection::Unknown { reason } => Some(reason),
            _ => self.not_assessed.as_deref(),
        }
    }

    fn proof(&self) -> String {
        let mut text = match &self.detection {
            Detection::Installed { version, found_in } => format!("{} {version}, found in {found_in}", self.name),
            Detection::NotInstalled => format!("{} is not installed", self.name),
            Detection::Unknown { .. } => format!("{}: the installed version is unknown", self.name),
        };
        if let Some(listed) = &self.assessed_as {
            let _ = write!(text, "; assessed as {listed}");
        }
        if let Some(channel) = self.channel.as_ref().filter(|_| self.assessment.is_some()) {
            let _ = write!(text, " in the channel {channel}");
        }
        if let Some(reason) = self.reason() {
            let _ = write!(text, "\n  {reason}");
        }
        if let Some(assessment) = &self.assessment {
            let _ = write!(text, "\n{}", render::assessment(assessment));
        }
        text.trim_end().to_owned() + "\n"
    }
}

impl Answers {
    fn document(&self, why: bool) -> Document {
        let mut channels: Vec<&str> = self.products.iter().filter_map(|product| product.channel.as_deref()).collect();
        channels.sort_unstable();
        channels.dedup();
        let head = format!("Catalogue: {}; channel: {}\n\n", self.catalog, channels.join(", "));
        if why {
            return Document::from(
                head + &self.products.iter().map(ProductAnswer::proof).collect::<Vec<_>>().join("\n"),
            );
        }
        let rows = self.products.iter().flat_map(ProductAnswer::rows);
        let mut document = Document::from(output::table(&HEAD, rows)).below(&head);
        let reasons = self.products.iter().filter_map(|product| Some((product, product.reason()?)));
        for (at, (product, reason)) in reasons.enumerate() {
            let line_break = if at == 0 { "\n" } else { "" };
            document.push_text(&format!("{line_break}{}: {}\n", product.name, output::printable(reason)));
        }
        document
    }

    /// Unknown if something is, else no if a product has updates and none is recommended. Products that are not installed do
    /// not matter, unless none is.
    fn exit(&self) -> Exit {
        if self.products.iter().all(|product| product.detection == Detection::NotInstalled) {
            return Exit::No;
        }
        let exits: Vec<Exit> = self.products.iter().map(ProductAnswer::exit).collect();
        [Exit::Unknown, Exit::No].into_iter().find(|exit| exits.contains(exit)).unwrap_or(Exit::Yes)
    }
}
