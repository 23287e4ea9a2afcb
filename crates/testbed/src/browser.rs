//! Chromium without a window, driven over `WebDriver`: for tests of pages.
//!
//! Only what the tests need: one window of one session. Waiting is left to the caller ([`wait_until`](crate::wait_until)).

use std::fs;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::assets::Component;
use crate::error::{Error, Result};
use crate::process::ports;
use crate::process::run_dir::RunDir;
use crate::process::{Launch, Probe, Process, show_logs_of_failure};
use crate::wait::{IN_TIME, wait_until};

/// How often a start is tried, when another process took the port in between.
const ATTEMPTS: usize = 3;
/// How long one command may take, on a busy machine: axe-core compares the colours of every text of a page, which takes ten
/// seconds and more for thousands of them.
const COMMAND: Duration = Duration::from_mins(5);
/// The same for scripts and pages, in milliseconds: the browser gives up before the client does.
const PATIENCE: u64 = 290_000;
/// What the standard calls the member that names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// What it calls Enter.
const ENTER: &str = "\u{e007}";

/// A browser with one window. It ends when the value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct Browser {
    // The driver ends before its directory goes, and the browser with it: its pipe closes.
    process: Process,
    client: Client,
    base: String,
    dir: RunDir,
}

/// An element of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element(String);

impl Browser {
    /// Starts a browser, and waits until it can be used.
    pub async fn start() -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::start_once().await {
                Err(error) if error.is_port_collision() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn start_once() -> Result<Self> {
        let (program, chromium) = (Component::Chromedriver.find()?, Component::Chromium.find()?);
        let dir = RunDir::new("browser")?;
        let [port] = ports::free()?;
        let launch = Launch {
            name: "chromedriver",
            program,
            args: vec![format!("--port={port}").into()],
            dir: dir.path().to_owned(),
            probe: Probe::Port(port),
        };
        let process = Process::spawn(launch)?;
        process.wait_ready().await?;
        // The client wants a provider even where nothing is encrypted; another test may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let failed =
            |error: reqwest::Error| Error::Answer { request: "a client".to_owned(), answer: error.to_string() };
        let client = Client::builder().no_proxy().timeout(COMMAND).build().map_err(failed)?;
        let mut browser = Self { process, client, base: format!("http://127.0.0.1:{port}/session"), dir };
        let profile = browser.dir.join("profile");
        let mut args = vec![
            "--headless=new".to_owned(),
            format!("--user-data-dir={}", profile.display()),
            // The browser ends with the driver.
            "--remote-debugging-pipe".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-gpu".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--hide-scrollbars".to_owned(),
            "--force-device-scale-factor=1".to_owned(),
        ];
        if rustix::process::geteuid().is_root() {
            args.push("--no-sandbox".to_owned());
        }
        let options = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "timeouts": {"script": PATIENCE, "pageLoad": PATIENCE},
            "goog:chromeOptions": {"binary": chromium, "args": args},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let session = browser.command(Method::POST, "", &options).await?;
        let id = session["sessionId"].as_str().unwrap_or_default().to_owned();
        browser.base = format!("{}/{id}", browser.base);
        Ok(browser)
    }

    async fn command(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let request = format!("{method} {path} {body}");
        let failed = |answer: String| Error::Answer { request: request.chars().take(500).collect(), answer };
        let mut sent = self.client.request(method.clone(), format!("{}{path}", self.base));
        if method == Method::POST {
            sent = sent.header("Content-Type", "application/json").body(body.to_string());
        }
        let reply = sent.send().await.map_err(|error| failed(error.to_string()))?;
        let status = reply.status();
        let text = reply.text().await.map_err(|error| failed(error.to_string()))?;
        let mut value: Value = serde_json::from_str(&text).map_err(|_| failed(text.clone()))?;
        if !status.is_success() {
            return Err(failed(value["value"]["message"].as_str().unwrap_or(&text).to_owned()));
        }
        Ok(value["value"].take())
    }

    /// Loads a page, and waits until it is complete.
    pub async fn open(&self, url: &str) -> Result<()> {
        self.command(Method::POST, "/url", &json!({"url": url})).await.map(drop)
    }

    /// The address of the page.
    pub async fn url(&self) -> Result<String> {
        Ok(self.command(Method::GET, "/url", &Value::Null).await?.as_str().unwrap_or_default().to_owned())
    }

    /// Runs a script as the body of a function, and gives what it returns; of a promise what it becomes.
    pub async fn run(&self, script: &str) -> Result<Value> {
        self.command(Method::POST, "/execute/sync", &json!({"script": script, "args": []})).await
    }

    /// The text that is shown of the first element that a CSS selector matches.
    pub async fn text(&self, selector: &str) -> Result<String> {
        let Element(id) = self.find(selector).await?;
        let text = self.command(Method::GET, &format!("/element/{id}/text"), &Value::Null).await?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// The first element that a CSS selector matches.
    pub async fn find(&self, selector: &str) -> Result<Element> {
        let wanted = json!({"using": "css selector", "value": selector});
        let found = self.command(Method::POST, "/element", &wanted).await?;
        Ok(Element(found[ELEMENT].as_str().unwrap_or_default().to_owned()))
    }

    /// Clicks on the first element that a CSS selector matches.
    pub async fn click(&self, selector: &str) -> Result<()> {
        let Element(id) = self.find(selector).await?;
        self.command(Method::POST, &format!("/element/{id}/click"), &json!({})).await.map(drop)
    }

    /// Types into the first element that a CSS selector matches.
    pub async fn type_into(&self, selector: &str, text: &str) -> Result<()> {
        let Element(id) = self.find(selector).await?;
        self.command(Method::POST, &format!("/element/{id}/value"), &json!({"text": text})).await.map(drop)
    }

    /// Clicks on an element that leads to another page, and waits until that is complete.
    pub async fn follow(&self, selector: &str) -> Result<()> {
        self.mark_page().await?;
        self.click(selector).await?;
        self.wait_for_next_page().await
    }

    /// Types into an element and presses Enter, and waits until the page that this leads to is complete.
    pub async fn submit(&self, selector: &str, text: &str) -> Result<()> {
        self.mark_page().await?;
        self.type_into(selector, &format!("{text}{ENTER}")).await?;
        self.wait_for_next_page().await
    }

    /// Marks the present page, so that it is told from the next one: a browser may begin to load that some time later.
    async fn mark_page(&self) -> Result<()> {
        self.run("document.documentElement.dataset.left = ''").await.map(drop)
    }

    async fn wait_for_next_page(&self) -> Result<()> {
        let script = "return document.readyState === 'complete' && !('left' in document.documentElement.dataset)";
        self.wait_for("another page is loaded", script).await
    }

    /// Presses a key on whatever has the focus; special ones are named by the code points of `WebDriver`, such as `\u{e004}`
    /// for Tab.
    pub async fn press(&self, key: &str) -> Result<()> {
        let keys = json!([{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]);
        let actions = json!({"actions": [{"type": "key", "id": "keyboard", "actions": keys}]});
        self.command(Method::POST, "/actions", &actions).await.map(drop)
    }

    /// Drags the mouse from the middle of an element by so many pixels.
    pub async fn drag(&self, selector: &str, x: i32, y: i32) -> Result<()> {
        let Element(id) = self.find(selector).await?;
        let moves = json!([
            {"type": "pointerMove", "origin": {ELEMENT: id}, "x": 0, "y": 0, "duration": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "origin": "pointer", "x": x, "y": y, "duration": 100},
            {"type": "pointerUp", "button": 0},
        ]);
        let mouse = json!({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves});
        self.command(Method::POST, "/actions", &json!({"actions": [mouse]})).await.map(drop)
    }

    /// Sets the size of the page in pixels, whatever the least size of a window is.
    pub async fn resize(&self, width: u32, height: u32) -> Result<()> {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", &size).await.map(drop)
    }

    /// Whether pages are told that the reader prefers dark colours.
    pub async fn prefer_dark(&self, dark: bool) -> Result<()> {
        let value = if dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.devtools("Emulation.setEmulatedMedia", &media).await.map(drop)
    }

    /// Whether the scripts of pages run, from the next page on.
    pub async fn allow_scripts(&self, allowed: bool) -> Result<()> {
        self.devtools("Emulation.setScriptExecutionDisabled", &json!({"value": !allowed})).await.map(drop)
    }

    /// A picture of what the window shows, as PNG.
    pub async fn screenshot(&self) -> Result<Vec<u8>> {
        let picture = self.command(Method::GET, "/screenshot", &Value::Null).await?;
        let decoded = STANDARD.decode(picture.as_str().unwrap_or_default());
        decoded.map_err(|error| Error::Answer { request: "a screenshot".to_owned(), answer: error.to_string() })
    }

    /// What was written to the browser's log since the last call: errors of scripts, refused requests, violations of the
    /// content security policy.
    pub async fn log(&self) -> Result<Vec<String>> {
        let entries = self.command(Method::POST, "/se/log", &json!({"type": "browser"})).await?;
        let text = |entry: &Value| entry["message"].as_str().unwrap_or_default().to_owned();
        Ok(entries.as_array().into_iter().flatten().map(text).collect())
    }

    async fn devtools(&self, command: &str, parameters: &Value) -> Result<Value> {
        self.command(Method::POST, "/goog/cdp/execute", &json!({"cmd": command, "params": parameters})).await
    }

    /// Waits until a script, as the body of a function, returns true.
    pub async fn wait_for(&self, what: &str, script: &str) -> Result<()> {
        wait_until(IN_TIME, what, async || self.run(script).await.is_ok_and(|value| value == true)).await
    }

    /// What axe-core finds wrong with the page, one line for each element: the rule, the element, and what to do.
    pub async fn accessibility_violations(&self) -> Result<Vec<String>> {
        self.violations_within("html").await
    }

    /// The same for the first element that a CSS selector matches.
    pub async fn violations_within(&self, selector: &str) -> Result<Vec<String>> {
        let path = Component::AxeCore.find()?;
        let library = fs::read_to_string(&path).map_err(Error::io(format!("reading {}", path.display())))?;
        // Scripts of the driver are not bound by the policy of the page.
        let script = format!(
            "{library}\nreturn axe.run({selector:?}).then(found => found.violations.flatMap(rule => rule.nodes.map(node => \
             rule.id + ': ' + node.html.slice(0, 200) + ': ' + node.failureSummary)))"
        );
        let found = self.run(&script).await?;
        Ok(found.as_array().into_iter().flatten().map(|line| line.as_str().unwrap_or_default().to_owned()).collect())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        show_logs_of_failure([&self.process]);
    }
}
