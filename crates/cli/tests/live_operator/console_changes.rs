//! Changes in the operator's console, in a real browser and on a real control plane with RBAC: each is made with the
//! caller's rights, although the operator itself is allowed to do everything.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clearway_testbed::{Browser, ClusterOptions, Prometheus, browser, http, prometheus, wait_until};
use serde_json::{Value, json};

use crate::console::{METRICS, STORY, picture};
use crate::lab::{Lab, Program, SOON, available, free_port, serve};

/// The reason of an acceptance, and hostile text behind it.
const REASON: [&str; 2] = ["Node names are fixed. ", "<script>document.title='taken'</script> it is \"known\""];
const START: &str = "form[action='/console/start-update']";

/// A policy that has every patch of a ClusterVersion in the audit log, with its user.
const AUDIT_POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [patch, update]
  resources: [{group: config.openshift.io, resources: [clusterversions]}]
- level: None
";

/// A control plane with an operator, its console, and service accounts with different rights.
struct Site {
    lab: Lab,
    operator: Program,
    _service: Program,
    _metrics: Prometheus,
    browser: Browser,
    audit: PathBuf,
    port: u16,
    /// May change the ClusterVersion.
    updater: String,
    /// May only read it.
    reader: String,
}

impl Site {
    async fn open(files: &Path) -> Option<Self> {
        let (policy, audit) = (files.join("policy.yaml"), files.join("audit.log"));
        fs::write(&policy, AUDIT_POLICY).unwrap();
        let flags =
            vec![format!("--audit-policy-file={}", policy.display()), format!("--audit-log-path={}", audit.display())];
        let options = ClusterOptions { apiserver_flags: flags, ..ClusterOptions::api_only() };
        let lab = Lab::open(&options, "experimental", "4.6.23", "stable-4.6").await?;
        let metrics = prometheus(METRICS).await?;
        let browser = browser().await?;
        let verbs = |verbs: &[&str]| {
            let versions = json!({
                "apiGroups": ["config.openshift.io"], "resources": ["clusterversions"], "verbs": verbs,
            });
            let definitions = json!({
                "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get"],
            });
            json!([versions, definitions])
        };
        let updater = account(&lab, "updater", verbs(&["get", "patch"])).await;
        let reader = account(&lab, "reader", verbs(&["get"])).await;
        let (service, url) = serve(Path::new(STORY), lab.path("serve.log")).await;
        let (port, status) = (free_port(), free_port());
        let (listen, status_listen) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{status}"));
        let (kubeconfig, base) = (lab.cluster.kubeconfig().display().to_string(), metrics.base_url());
        // It does not apply updates: what is requested stays in the spec.
        let arguments = [
            "operator",
            "--kubeconfig",
            &kubeconfig,
            "--status-listen",
            &status_listen,
            "--arch",
            "amd64",
            "--log",
            "debug",
            "--fetch-every",
            "1s",
            "--between-rounds",
            "1s",
            "--between-answers",
            "1s",
            "--upstream",
            &url,
            "--prometheus",
            &base,
            "--console-listen",
            &listen,
            "--console-changes",
        ];
        let operator = Program::start(lab.path("operator.log"), status, &arguments);
        lab.until("there is advice", |object| !available(object).is_empty()).await;
        let site = Site { lab, operator, _service: service, _metrics: metrics, browser, audit, port, updater, reader };
        site.shows("4.7.4", "Applies to this cluster").await;
        Some(site)
    }

    fn path(version: &str) -> String {
        format!("/console/cluster-update?kind=ClusterVersion&name=version&version={version}")
    }

    /// Waits until the page of an update has a text.
    async fn shows(&self, version: &str, text: &str) {
        wait_until(SOON, text, async || {
            http::get(self.port, &Self::path(version)).await.is_ok_and(|answer| answer.body.contains(text))
        })
        .await
        .unwrap();
    }

    async fn open_update(&self, version: &str) {
        self.browser.open(&format!("http://127.0.0.1:{}{}", self.port, Self::path(version))).await.unwrap();
    }

    /// Fills in the form that starts an update, sends it, and gives the text of the answer.
    async fn start(&self, token: &str) -> String {
        self.browser.type_into(&format!("{START} input[name=token]"), token).await.unwrap();
        self.send(START).await
    }

    /// Sends a form, and gives the text of the answer.
    async fn send(&self, form: &str) -> String {
        self.browser.click(&format!("{form} button")).await.unwrap();
        let answered = "return document.querySelector(\"section[aria-label='Result']\") !== null";
        self.browser.wait_for("the answer is shown", answered).await.unwrap();
        self.browser.text("main").await.unwrap()
    }

    async fn check_accessibility(&self) {
        for dark in [false, true] {
            self.browser.prefer_dark(dark).await.unwrap();
            // What is folded would not be looked at.
            self.browser.run("document.querySelectorAll('details').forEach(one => one.open = true)").await.unwrap();
            assert_eq!(self.browser.accessibility_violations().await.unwrap(), [""; 0], "dark: {dark}");
        }
        self.browser.prefer_dark(false).await.unwrap();
    }
}

/// A service account with these rights; gives a token of it.
async fn account(lab: &Lab, name: &str, rules: Value) -> String {
    let rbac = "rbac.authorization.k8s.io";
    let subject = json!({"kind": "ServiceAccount", "namespace": "clearway", "name": name});
    for object in [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "clearway"}}),
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name}, "subjects": [subject],
        }),
    ] {
        lab.create(&object).await;
    }
    lab.cluster.token_for_service_account("clearway", name).await.unwrap()
}

#[tokio::test]
async fn updates_are_started_and_risks_accepted_with_the_rights_of_the_caller_alone() {
    let files = tempfile::tempdir().unwrap();
    let Some(site) = Site::open(files.path()).await else { return };
    let Site { lab, browser, .. } = &site;
    browser.resize(1280, 1000).await.unwrap();
    let before = lab.version().await["spec"].clone();

    // Without the right to patch, and with a token that is none: the API server refuses, and nothing changes.
    site.open_update("4.6.43").await;
    site.check_accessibility().await;
    let refused = site.start(&site.reader).await;
    assert!(refused.contains("Nothing was changed") && refused.contains("Not allowed"), "{refused}");
    let user = "\"system:serviceaccount:clearway:reader\" cannot patch resource \"clusterversions\"";
    assert!(refused.contains(user), "{refused}");
    site.check_accessibility().await;
    browser.follow("a[href*='cluster-update']").await.unwrap();
    let refused = site.start("not-a-token").await;
    assert!(refused.contains("The API server does not accept your token"), "{refused}");
    assert_eq!(lab.version().await["spec"], before);

    // A risk that applies is accepted, with a reason that would like to be a script.
    let risk = "VSphereNodeNameChanges";
    site.open_update("4.7.4").await;
    site.check_accessibility().await;
    let form = format!("form[aria-label='Accept the risk {risk}']");
    browser.run("document.querySelectorAll('details').forEach(one => one.open = true)").await.unwrap();
    browser.type_into(&format!("{form} textarea"), REASON[0]).await.unwrap();
    browser.type_into(&format!("{form} input[name=until]"), "30d").await.unwrap();
    browser.run(&format!("document.querySelector(\"{form}\").closest('li').scrollIntoView()")).await.unwrap();
    picture(browser, "changes").await;
    browser.type_into(&format!("{form} textarea"), REASON[1]).await.unwrap();
    browser.type_into(&format!("{form} input[name=token]"), &site.updater).await.unwrap();
    let accepted = site.send(&form).await;
    assert!(accepted.contains("The risk VSphereNodeNameChanges is accepted."), "{accepted}");
    let stored = lab.version().await["spec"]["acceptedRisks"].clone();
    assert_eq!((&stored[0]["name"], &stored[0]["reason"]), (&json!(risk), &json!(REASON.concat())), "{stored}");
    assert!(stored[0]["until"].is_string(), "{stored}");
    site.shows("4.7.4", "Accepted until").await;
    for path in [Site::path("4.7.4"), "/console/risks".to_owned()] {
        browser.open(&format!("http://127.0.0.1:{}{path}", site.port)).await.unwrap();
        let text = browser.text("main").await.unwrap();
        assert!(text.contains(&REASON.concat()), "{text}");
        assert_ne!(browser.run("return document.title").await.unwrap(), "taken");
        site.check_accessibility().await;
    }
    let mut log = browser.log().await.unwrap();
    // A browser notes answers that say no.
    log.retain(|line| !line.contains("Failed to load resource: the server responded with a status of 40"));
    assert_eq!(log, [""; 0]);

    // An update is started without scripts.
    browser.allow_scripts(false).await.unwrap();
    site.open_update("4.6.43").await;
    let requested = site.start(&site.updater).await;
    assert!(requested.contains("Requested update to 4.6.43."), "{requested}");
    assert!(requested.contains("runs without --apply-updates"), "{requested}");
    assert_eq!(lab.version().await["spec"]["desiredUpdate"]["version"], "4.6.43");
    assert!(!browser.url().await.unwrap().contains("token"), "{:?}", browser.url().await);
    assert_eq!(browser.text("a[href*='cluster-update']").await.unwrap(), "Back to the update");

    check_traces(&site);
}

/// Who made the changes, as the API server's audit log and the operator's log have it; the tokens are in neither.
fn check_traces(site: &Site) {
    let audit = fs::read_to_string(&site.audit).unwrap();
    let events = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let patches: BTreeSet<(String, u64)> = events
        .filter(|event| event["objectRef"]["subresource"].is_null())
        .map(|event| {
            assert!(event["impersonatedUser"].is_null(), "{event}");
            let user = event["user"]["username"].as_str().unwrap().to_owned();
            (user, event["responseStatus"]["code"].as_u64().unwrap())
        })
        // Others change the object at the same time, so a change may be tried again.
        .filter(|(_, code)| *code != 409)
        .collect();
    let account = |name: &str| format!("system:serviceaccount:clearway:{name}");
    assert_eq!(patches, BTreeSet::from([(account("reader"), 403), (account("updater"), 200)]));
    let log = site.operator.log();
    for token in [&site.updater, &site.reader] {
        let signature = token.rsplit('.').next().unwrap();
        assert!(!log.contains(signature) && !audit.contains(signature), "a token was logged");
    }
    for line in ["update requested in the console", "risk accepted in the console"] {
        let found = log.lines().find(|known| known.contains(line) && known.contains("Done"));
        assert!(found.is_some_and(|found| found.contains(&account("updater"))), "{line}: {log}");
    }
}

#[tokio::test]
async fn a_proxy_can_add_the_identity_and_other_sites_cannot_use_it() {
    let files = tempfile::tempdir().unwrap();
    let Some(site) = Site::open(files.path()).await else { return };
    let (origin, bearer) = (format!("http://127.0.0.1:{}", site.port), format!("Bearer {}", site.updater));
    let identity = ("Authorization", bearer.as_str());
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let page = http::get_with(site.port, &Site::path("4.6.43"), &[identity]).await.unwrap();
    assert!(page.body.contains("method=\"post\"") && !page.body.contains("type=\"password\""), "{}", page.body);
    let body = "kind=ClusterVersion&name=version&version=4.7.4";
    let before = site.lab.version().await["spec"].clone();
    for (headers, status, words) in [
        (
            &[identity, form, ("Origin", "https://attacker.example")][..],
            403,
            "does not come from a page of this console",
        ),
        (&[identity, form, ("Sec-Fetch-Site", "cross-site")], 403, "does not come from a page of this console"),
        (&[form, ("Origin", &origin)], 401, "Your identity is missing"),
        (&[identity, form, ("Origin", &origin)], 409, "tick “Start it although it is not recommended”"),
    ] {
        let answer = http::post_with(site.port, "/console/start-update", headers, body).await.unwrap();
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.body);
        assert!(answer.body.contains(words), "{}", answer.body);
    }
    assert_eq!(site.lab.version().await["spec"], before);
    let body = format!("{body}&allow-not-recommended=yes");
    let headers = [identity, form, ("Sec-Fetch-Site", "same-origin")];
    let answer = http::post_with(site.port, "/console/start-update", &headers, &body).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body.contains("You have accepted the risks with 4.7.4"), "{}", answer.body);
    assert_eq!(site.lab.version().await["spec"]["desiredUpdate"]["version"], "4.7.4");

    // An API server that is away is named, and the form says so.
    site.lab.cluster.apiserver().kill();
    let answer = http::post_with(site.port, "/console/start-update", &headers, &body).await.unwrap();
    assert_eq!(answer.status, 502, "{}", answer.body);
    assert!(answer.body.contains("cannot reach the API server") || answer.body.contains("Cannot reach the API server"));
}
