//! As much of WebDriver as the tests need: a session of a headless Chromium over chromedriver.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A browser that is closed with its last use.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts one; `None` where there is none.
    pub fn start() -> Option<Self> {
        let mut driver = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).spawn().ok()?;
        let lines = BufReader::new(driver.stdout.take().expect("it is piped")).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            line.strip_prefix("ChromeDriver was started successfully on port ")?.trim_end_matches('.').parse().ok()
        });
        let port = port.expect("chromedriver says its port");
        let mut browser = Self { driver, port, session: String::new() };
        // CI runs as root, to whom Chromium denies its sandbox. The pages are our own.
        let args = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"];
        let wanted = json!({"goog:chromeOptions": {"args": args}, "goog:loggingPrefs": {"browser": "ALL"}});
        let session = browser.call("POST", "/session", &json!({"capabilities": {"alwaysMatch": wanted}}));
        browser.session = format!("/session/{}", session["sessionId"].as_str().expect("a session"));
        Some(browser)
    }

    /// Opens a file and returns what the browser's console says of it.
    pub fn open(&self, file: &Path) -> Vec<String> {
        self.post("/url", &json!({"url": format!("file://{}", file.display())}));
        self.settle();
        self.console()
    }

    /// What the console said since it was asked last.
    pub fn console(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({"type": "browser"}));
        entries.as_array().expect("entries").iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// The value of an expression in the page.
    pub fn value(&self, expression: &str) -> Value {
        self.post("/execute/sync", &json!({"script": format!("return {expression};"), "args": []}))
    }

    /// Waits until what was done is to be seen. The browser skips what is out of sight, and finds out what that is as it
    /// draws: until then new rows have no text.
    fn settle(&self) {
        let script = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));";
        self.post("/execute/async", &json!({"script": script, "args": []}));
    }

    /// Presses keys, one after the other.
    pub fn press(&self, keys: &[&str]) {
        let actions = keys.iter().flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key})));
        let actions = actions.collect::<Vec<_>>();
        self.post("/actions", &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}));
        self.settle();
    }

    /// Moves the mouse over the first element of a CSS selector, and clicks if wanted.
    pub fn point(&self, selector: &str, click: bool) {
        let element = self.post("/element", &json!({"using": "css selector", "value": selector}));
        let mut actions = vec![json!({"type": "pointerMove", "duration": 0, "origin": element, "x": 0, "y": 0})];
        if click {
            actions.extend(["pointerDown", "pointerUp"].map(|kind| json!({"type": kind, "button": 0})));
        }
        self.post("/actions", &json!({"actions": [{"type": "pointer", "id": "mouse", "actions": actions}]}));
        self.settle();
    }

    /// Sets the colour scheme that the reader prefers.
    pub fn prefer(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let command = json!({"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}});
        self.post("/goog/cdp/execute", &command);
        self.settle();
    }

    /// Writes what is to be seen into a file, for people.
    pub fn screenshot(&self, file: &Path) {
        let command = json!({"cmd": "Page.captureScreenshot", "params": {"format": "png"}});
        let answer = self.post("/goog/cdp/execute", &command);
        std::fs::write(file, decoded(answer["data"].as_str().expect("a picture"))).expect("it can be written");
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("{}{path}", self.session), body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.request(method, path, &body.to_string()).expect("chromedriver answers");
        assert!(answer["value"]["error"].is_null(), "{method} {path} {body}: {answer}");
        answer["value"].clone()
    }

    fn request(&self, method: &str, path: &str, body: &str) -> std::io::Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )?;
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            match line.trim_end().to_ascii_lowercase().split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
                None if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer)?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its session, not with its driver; a test that fails must not leave one behind either.
        let _ = self.request("DELETE", &self.session, "{}");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Base64, as WebDriver sends pictures.
fn decoded(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    bytes
}
