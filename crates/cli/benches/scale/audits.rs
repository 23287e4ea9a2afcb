//! `policy audit` over 150,000 stored objects and twenty constraints: in bounded memory, and in at most twice the time that
//! it takes to list the objects.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kube::api::ListParams;
use serde_json::{Value, json};

use crate::lab::{Lab, REQUIRED_LABEL, config_map, constraint};

const CONSTRAINTS: usize = 20;
/// In kB, of the command and the process that evaluates.
const PEAK: u64 = 512 << 10;
const RATIO: f64 = 2.0;

/// Whether all bounds are kept.
pub(crate) async fn measure(objects: usize) -> bool {
    let lab = Lab::start().await.expect("a control plane");
    lab.create_template("RequiredLabel", REQUIRED_LABEL).await;
    lab.create_all((0..CONSTRAINTS).map(|number| {
        let parameters = json!({"parameters": {"label": format!("label-{number}")}});
        constraint("RequiredLabel", &format!("constraint-{number:02}"), &parameters)
    }))
    .await;
    lab.create_namespace("shop").await;
    let begin = Instant::now();
    lab.create_all((0..objects).map(|number| {
        let labels: Value = (0..CONSTRAINTS).map(|label| (format!("label-{label}"), json!("a"))).collect();
        // Every hundredth violates all constraints.
        let labels = if number % 100 == 0 { json!({}) } else { labels };
        config_map("shop", &format!("object-{number:06}"), &labels)
    }))
    .await;
    println!("{objects} objects written after {:.0} s", begin.elapsed().as_secs_f64());
    let listed = list(&lab).await;
    let (took, peak, found) = audit(&lab);
    let violations = found["constraints"][0]["totalViolations"].as_u64().unwrap_or_default();
    let expected = objects.div_ceil(100) as u64;
    let ratio = took.as_secs_f64() / listed.as_secs_f64();
    let passes = ratio <= RATIO && peak <= PEAK && violations >= expected;
    println!(
        "  {}: audited in {:.1} s, listed in {:.1} s: {ratio:.2} times, at most {RATIO}; {peak} kB, at most {PEAK}; \
         {violations} violations of a constraint, at least {expected}",
        if passes { "PASS" } else { "FAIL" },
        took.as_secs_f64(),
        listed.as_secs_f64()
    );
    passes
}

/// The time to read all ConfigMaps, in the pages of an audit.
async fn list(lab: &Lab) -> Duration {
    let api = lab.api("v1", "ConfigMap", None);
    let begin = Instant::now();
    let mut page = ListParams::default().limit(500);
    loop {
        let list = api.list(&page).await.expect("a page");
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return begin.elapsed(),
        }
    }
}

/// Time, peak of memory in kB, and result of an audit.
fn audit(lab: &Lab) -> (Duration, u64, Value) {
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_clearway"))
        .args(["policy", "audit", "-o", "json", "--kubeconfig"])
        .arg(lab.cluster.kubeconfig())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut output = child.stdout.take().expect("an output");
    let reader = std::thread::spawn(move || serde_json::from_reader(&mut output).unwrap_or(Value::Null));
    let mut peak = 0;
    // The marks only rise, so that the last look before the end has them but for a moment.
    while child.try_wait().expect("a process").is_none() {
        peak = peak.max(mark(child.id()) + children(child.id()).into_iter().map(mark).sum::<u64>());
        std::thread::sleep(Duration::from_millis(5));
    }
    (begin.elapsed(), peak, reader.join().expect("an answer"))
}

fn children(process: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// The most resident memory of a process so far, in kB.
fn mark(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    mark.trim().trim_end_matches("kB").trim().parse().unwrap_or(0)
}
