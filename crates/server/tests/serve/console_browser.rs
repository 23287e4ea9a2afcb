//! The console in a real browser: every page, the graph, the keyboard, and pages without scripts.
//!
//! With `CLEARWAY_SCREENSHOTS=DIR` the pictures of the documentation are written there.

use std::fmt::Write as _;
use std::path::Path;

use clearway_testbed::{Browser, browser};
use serde_json::Value;

use crate::console::{ConsoleSite, hostile};
use crate::site::Data;

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

/// Writes a picture of the page, if pictures are wanted.
async fn picture(browser: &Browser, name: &str) {
    if let Some(directory) = std::env::var_os("CLEARWAY_SCREENSHOTS") {
        let picture = browser.screenshot().await.unwrap();
        std::fs::write(Path::new(&directory).join(format!("console-{name}.png")), picture).unwrap();
    }
}

async fn count(browser: &Browser, selector: &str) -> u64 {
    let found = browser.run(&format!("return document.querySelectorAll({selector:?}).length")).await.unwrap();
    found.as_u64().unwrap()
}

async fn number(browser: &Browser, script: &str) -> f64 {
    browser.run(&format!("return {script}")).await.unwrap().as_f64().unwrap()
}

/// 270 versions of five minors, each with updates from the versions before it; some carry risks and some are blocked.
fn large() -> Data {
    let data = Data::of(&["1.0.0"]);
    let mut releases = String::new();
    let mut versions: Vec<String> = Vec::new();
    for minor in 10..15 {
        for patch in 0..54 {
            let version = format!("4.{minor}.{patch}");
            let previous: Vec<&str> = versions.iter().rev().take(40).map(String::as_str).collect();
            let _ = writeln!(
                releases,
                "- {{version: {version}, arch: amd64, payload: 'r.example.com/p@sha256:{:064}', previous: [{}]}}",
                versions.len(),
                previous.join(", ")
            );
            versions.push(version);
        }
    }
    data.write("releases/r.yaml", releases);
    data.write("channels/c.yaml", format!("name: stable-4.14\nversions: [{}]\n", versions.join(", ")));
    for (minor, name) in [(11, "SlowDisks"), (12, "ProxyTimeouts"), (13, "OldBootImages"), (14, "LostSettings")] {
        for patch in [3, 17, 30, 53] {
            let file = format!("blocked-edges/4.{minor}.{patch}-{name}.yaml");
            let from = format!("4[.]{}[.].*", minor - 1);
            let text = "url: https://example.com/issues/1\nmessage: Nodes with slow disks take an hour to start.\nmatchingRules: [{type: PromQL, promql: {promql: 'max(disk_seconds > bool 1)'}}]";
            data.write(&file, format!("to: 4.{minor}.{patch}\nfrom: {from}\nname: {name}\n{text}\n"));
        }
        data.write(&format!("blocked-edges/4.{minor}.9.yaml"), format!("to: 4.{minor}.9\nfrom: .*\n"));
    }
    data
}

#[tokio::test]
async fn every_page_is_accessible_in_light_and_dark_and_on_a_phone() {
    let Some(browser) = browser().await else { return };
    let data = Data::example();
    let console = ConsoleSite::start(&data).await;
    data.write(
        "blocked-edges/1.5.2-Late.yaml",
        "to: 1.5.2\nfrom: 1[.]5[.].*\nname: Late\nurl: https://example.com/late\nmessage: It is late.\nmatchingRules: [{type: Always}]\n",
    );
    console.site.refresh_now().await;
    let revision = console.site.running.service().publication().unwrap().revision().to_string();
    let pages = [
        ("overview", String::new(), "Overview"),
        ("channel", "channel?channel=candidate-1.5".to_owned(), "candidate-1.5"),
        ("blocked", "channel?channel=candidate-1.5&blocked=yes&show=all".to_owned(), "candidate-1.5"),
        ("version", "channel?channel=candidate-1.5&from=1.4.0".to_owned(), "candidate-1.5"),
        ("update", "update?channel=candidate-1.5&from=1.4.1&to=1.5.0".to_owned(), "1.4.1 to 1.5.0"),
        ("paths", "update?channel=candidate-1.5&from=1.4.0&to=1.5.2".to_owned(), "1.4.0 to 1.5.2"),
        ("risks", "risks".to_owned(), "Risks"),
        ("risk", "risk?name=SlowEtcd".to_owned(), "SlowEtcd"),
        ("revisions", "revisions".to_owned(), "Revisions"),
        ("revision", format!("revision?id={revision}"), "Revision"),
        ("health", "health".to_owned(), "Health"),
        ("error", "nothing".to_owned(), "Not found"),
    ];
    for (width, height, dark) in [(1280, 800, false), (1280, 800, true), (390, 844, false), (390, 844, true)] {
        browser.resize(width, height).await.unwrap();
        browser.prefer_dark(dark).await.unwrap();
        for (name, path, heading) in &pages {
            browser.open(&console.url(path)).await.unwrap();
            assert!(browser.text("h1").await.unwrap().starts_with(heading), "{path}");
            let violations = browser.accessibility_violations().await.unwrap();
            assert_eq!(violations, [""; 0], "{path} at {width} pixels, dark: {dark}");
            // Wide tables and drawings scroll by themselves, and the page does not.
            let wide = number(&browser, "document.documentElement.scrollWidth").await;
            assert!(wide <= f64::from(width), "{path}: {wide} pixels wide on {width}");
            let shown = match (width, dark) {
                (1280, false) => Some(name.to_string()),
                (1280, true) if *name == "update" => Some(format!("{name}-dark")),
                (390, false) if *name == "risk" => Some(format!("{name}-phone")),
                _ => None,
            };
            if let Some(shown) = shown.filter(|shown| {
                ["overview", "update-dark", "risk-phone", "risks", "revision"].contains(&shown.as_str())
            }) {
                picture(&browser, &shown).await;
            }
        }
    }
    let complaints: Vec<String> = browser.log().await.unwrap();
    let complaints: Vec<&String> = complaints.iter().filter(|line| !line.contains("404 (Not Found)")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
}

#[tokio::test]
async fn the_graph_of_270_versions_is_zoomed_panned_searched_and_asked_for_paths() {
    let Some(browser) = browser().await else { return };
    let data = large();
    let console = ConsoleSite::start(&data).await;
    browser.resize(1280, 900).await.unwrap();
    let page = console.url("channel?channel=stable-4.14");
    browser.open(&page).await.unwrap();
    browser.wait_for("the script is ready", "return canvas.dataset.ready === 'yes'").await.unwrap();
    assert_eq!(count(&browser, "#canvas a[data-version]").await, 270);
    // Readable: no box of a version covers another, and letters have at least the size of small print.
    let overlaps = "const boxes = [...document.querySelectorAll('#canvas a[data-version] rect')].map(r => r.getBoundingClientRect());
        let overlaps = 0;
        boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
            if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) overlaps++;
        }));
        return overlaps";
    assert_eq!(browser.run(overlaps).await.unwrap(), 0);
    let letters = "document.querySelector('#canvas a[data-version] text').getBoundingClientRect().height";
    assert!(number(&browser, letters).await >= 11.0);
    picture(&browser, "graph").await;

    // Zoom with the links, which do not load another page, and with the keys.
    let width = "document.querySelector('#canvas svg').getBoundingClientRect().width";
    let whole = number(&browser, width).await;
    browser.click("[data-zoom-step='1']").await.unwrap();
    assert!(number(&browser, width).await > whole * 1.2);
    browser.click("[data-zoom-step='0']").await.unwrap();
    browser.run("canvas.focus()").await.unwrap();
    browser.press("-").await.unwrap();
    let smaller = number(&browser, width).await;
    assert!(smaller < whole * 0.85, "{smaller} {whole}");
    browser.press("0").await.unwrap();
    assert!((number(&browser, width).await - whole).abs() < 2.0);
    assert_eq!(browser.url().await.unwrap(), page);

    // Pan with the mouse.
    for _ in 0..3 {
        browser.press("+").await.unwrap();
    }
    browser.run("canvas.scrollTo({left: 200, top: 300, behavior: 'instant'})").await.unwrap();
    browser.drag("#canvas", 120, 90).await.unwrap();
    let place = browser.run("return [canvas.scrollLeft, canvas.scrollTop]").await.unwrap();
    assert_eq!((place[0].as_f64(), place[1].as_f64()), (Some(80.0), Some(210.0)), "{place}");
    assert_eq!(count(&browser, "#canvas a.chosen").await, 0, "a drag is not a click");

    // Search: what is found is marked and in view.
    browser.type_into("#search input[name=find]", "4.14.5").await.unwrap();
    assert_eq!(browser.text("#status").await.unwrap(), "5 versions found");
    assert_eq!(count(&browser, "#canvas a.found").await, 5);
    browser.press(ENTER).await.unwrap();
    let focused = browser.run("return document.activeElement.dataset.version").await.unwrap();
    assert_eq!(focused, "4.14.5");
    let in_view = "const a = document.activeElement.getBoundingClientRect(), b = canvas.getBoundingClientRect();
        return a.right > b.left && a.left < b.right && a.bottom > b.top && a.top < b.bottom";
    browser.wait_for("the version is in view", in_view).await.unwrap();

    // Two versions with the keyboard: paths and reasons.
    browser.press(ENTER).await.unwrap();
    assert!(browser.text("#status").await.unwrap().starts_with("4.14.5 is chosen."));
    assert!(count(&browser, "#canvas g.lit").await > 0);
    browser.press(ESCAPE).await.unwrap();
    assert_eq!(count(&browser, "#canvas a.chosen").await, 0);
    for version in ["4.13.0", "4.14.53"] {
        browser.run(&format!("document.querySelector('#canvas a[data-version=\"{version}\"]').focus()")).await.unwrap();
        browser.press(ENTER).await.unwrap();
    }
    browser.wait_for("the paths are shown", "return document.querySelector('#answer .path') !== null").await.unwrap();
    let answer = browser.text("#answer").await.unwrap();
    assert!(answer.starts_with("4.13.0 to 4.14.53"), "{answer}");
    assert!(answer.contains("Fewest updates") && answer.contains("4.13.0 to "), "{answer}");
    assert_eq!(browser.run("return document.activeElement.tagName").await.unwrap(), "H2");
    assert_eq!(browser.url().await.unwrap(), page, "the graph is still there");
    assert_eq!(browser.violations_within("#answer").await.unwrap(), [""; 0]);
    picture(&browser, "graph-paths").await;

    // The same with the mouse, in the other order: an update with a risk, and its reasons.
    browser.press(ESCAPE).await.unwrap();
    browser.open(&page).await.unwrap();
    for version in ["4.14.3", "4.13.53"] {
        browser.click(&format!("#canvas a[data-version='{version}']")).await.unwrap();
    }
    browser.wait_for("the update is shown", "return document.querySelector('#answer .card') !== null").await.unwrap();
    let answer = browser.text("#answer").await.unwrap();
    assert!(answer.contains("Conditional") && answer.contains("LostSettings"), "{answer}");
    assert!(answer.contains("blocked-edges/4.14.3-LostSettings.yaml adds the risk LostSettings"), "{answer}");
    assert!(browser.log().await.unwrap().is_empty());
}

#[tokio::test]
async fn the_page_of_270_versions_is_accessible_as_a_whole() {
    let Some(browser) = browser().await else { return };
    let data = large();
    let console = ConsoleSite::start(&data).await;
    for (width, height, dark) in [(1280, 900, false), (390, 844, true)] {
        browser.resize(width, height).await.unwrap();
        browser.prefer_dark(dark).await.unwrap();
        browser.open(&console.url("channel?channel=stable-4.14")).await.unwrap();
        let violations = browser.accessibility_violations().await.unwrap();
        assert_eq!(violations, [""; 0], "{width} pixels, dark: {dark}");
    }
}

#[tokio::test]
async fn without_scripts_links_and_forms_do_the_same() {
    let Some(browser) = browser().await else { return };
    let data = Data::example();
    let console = ConsoleSite::start(&data).await;
    browser.resize(1280, 900).await.unwrap();
    browser.allow_scripts(false).await.unwrap();
    browser.open(&console.url("")).await.unwrap();
    browser.follow("table a[href*='candidate-1.5']").await.unwrap();
    assert_eq!(browser.text("h1").await.unwrap(), "candidate-1.5");
    assert_eq!(browser.run("return document.getElementById('canvas').dataset.ready ?? 'no'").await.unwrap(), "no");
    browser.follow("[data-zoom-step='1']").await.unwrap();
    assert!(browser.url().await.unwrap().contains("zoom=125"));
    browser.follow("#canvas a[data-version='1.4.1']").await.unwrap();
    assert_eq!(browser.text("#graph h2").await.unwrap(), "Updates from 1.4.1");
    browser.follow("#canvas a[data-version='1.5.0']").await.unwrap();
    assert_eq!(browser.text("h1").await.unwrap(), "1.4.1 to 1.5.0");
    assert!(browser.text("main").await.unwrap().contains("SlowEtcd"));
    browser.open(&console.url("channel?channel=candidate-1.5")).await.unwrap();
    browser.submit("#search input[name=find]", "1.5").await.unwrap();
    assert!(browser.text("#status").await.unwrap().starts_with("Versions that contain “1.5”: "));
    browser.type_into("input[name=from]", "1.4.0").await.unwrap();
    browser.submit("input[name=to]", "1.5.2").await.unwrap();
    assert_eq!(browser.text("h1").await.unwrap(), "1.4.0 to 1.5.2");
}

#[tokio::test]
async fn the_keyboard_reaches_everything_and_sees_where_it_is() {
    let Some(browser) = browser().await else { return };
    let data = Data::example();
    let console = ConsoleSite::start(&data).await;
    browser.resize(1280, 900).await.unwrap();
    browser.open(&console.url("channel?channel=stable-1.5")).await.unwrap();
    browser.press(TAB).await.unwrap();
    assert_eq!(browser.run("return document.activeElement.textContent").await.unwrap(), "Skip to the content");
    browser.press(ENTER).await.unwrap();
    assert_eq!(browser.run("return location.hash + document.activeElement.id").await.unwrap(), "#contentcontent");
    let all = "return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), summary, [tabindex=\"0\"]')].length";
    let all = browser.run(all).await.unwrap().as_u64().unwrap();
    let mut seen = std::collections::BTreeSet::new();
    let place = "const e = document.activeElement, s = getComputedStyle(e), r = e.querySelector('rect');
        return [[...document.querySelectorAll('*')].indexOf(e), s.outlineStyle !== 'none' || (r && getComputedStyle(r).strokeWidth === '2.5px')]";
    for _ in 0..all + 5 {
        browser.press(TAB).await.unwrap();
        let found = browser.run(place).await.unwrap();
        if found[0].as_u64().is_some_and(|place| place > 10) {
            assert_eq!(found[1], Value::Bool(true), "no mark where the focus is: {found}");
            seen.insert(found[0].as_u64());
        }
    }
    assert!(seen.len() as u64 >= all - 10, "{} of {all} are reached", seen.len());
}

#[tokio::test]
async fn hostile_text_is_shown_as_text() {
    let Some(browser) = browser().await else { return };
    let data = hostile();
    let console = ConsoleSite::start(&data).await;
    browser.open(&console.url("")).await.unwrap();
    assert!(browser.text("main").await.unwrap().contains("<script>document.body.innerHTML='taken'</script>"));
    browser.follow("table a[href*='script']").await.unwrap();
    let heading = browser.text("h1").await.unwrap();
    assert!(heading.contains("<img src=x onerror=") && heading.contains("\\u{202e}gnp.exe"), "{heading}");
    assert!(heading.contains("{{7*7}}"), "{heading}");
    for path in ["risks", "risk?name=%3Cscript%3Ealert(1)%3C%2Fscript%3E", "update?channel=c&from=1.0.0&to=1.0.1"] {
        browser.open(&console.url(path)).await.unwrap();
        let text = browser.text("main").await.unwrap();
        assert!(text.contains("<script>alert(1)</script>"), "{path}: {text}");
        assert_eq!(count(&browser, "main script, main img, main b, main [onerror], a[href^='javascript']").await, 0);
        assert_ne!(browser.run("return document.title").await.unwrap(), "taken");
        assert_eq!(browser.accessibility_violations().await.unwrap(), [""; 0], "{path}");
    }
    assert!(browser.text("main").await.unwrap().contains("javascript:alert(document.domain)"));
    assert!(browser.log().await.unwrap().is_empty());
}
