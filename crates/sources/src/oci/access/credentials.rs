//! Who a registry is asked as: nobody, one user, or whoever a docker `config.json` names for it.
//!
//! Secrets stay in here: they are printed by nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::oci::{OciError, Repository};

/// Who a registry is asked as.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Credentials {
    /// Nobody. What is public can be read.
    #[default]
    Anonymous,
    /// This user, on whichever registry is asked.
    Basic {
        /// The name.
        user: String,
        /// The password or token.
        password: String,
    },
    /// Whom the file of docker, podman or a pull secret names for the registry. It is read whenever a registry asks who
    /// is there, so a secret that is replaced is found.
    DockerConfig(PathBuf),
}

/// A user and a password.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::oci) struct Login {
    pub(in crate::oci) user: String,
    pub(in crate::oci) password: String,
}

#[derive(serde::Deserialize)]
struct Config {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Entry {
    auth: String,
    username: String,
    password: String,
}

impl Credentials {
    /// The login for a repository; none is no failure.
    pub(in crate::oci) fn login(&self, repository: &Repository) -> Result<Option<Login>, OciError> {
        match self {
            Credentials::Anonymous => Ok(None),
            Credentials::Basic { user, password } => Ok(Some(Login { user: user.clone(), password: password.clone() })),
            Credentials::DockerConfig(path) => {
                let config = read(path)?;
                find(&config, repository)
                    .map(|entry| entry.login().ok_or_else(|| unusable(path, "an entry of `auths` has no credentials")))
                    .transpose()
            }
        }
    }

    /// Whether they can be used at all, before anything is asked for.
    pub(in crate::oci) fn check(&self) -> Result<(), OciError> {
        match self {
            Credentials::DockerConfig(path) => read(path).map(drop),
            Credentials::Anonymous | Credentials::Basic { .. } => Ok(()),
        }
    }

    /// What to do when a registry refuses.
    pub(in crate::oci) fn hint(&self) -> &'static str {
        match self {
            Credentials::Anonymous => "pass a user, or a docker config.json with one",
            Credentials::Basic { .. } => "check the user, the password and the permissions of the user",
            Credentials::DockerConfig(_) => {
                "check that `auths` of the docker config.json names the host (credential helpers are not supported), and the permissions of that user"
            }
        }
    }
}

fn read(path: &Path) -> Result<Config, OciError> {
    let text = std::fs::read(path).map_err(|error| unusable(path, &error.to_string()))?;
    // The error of the parser could quote the file, and with it a secret.
    serde_json::from_slice(&text).map_err(|_| unusable(path, "it is not a docker config.json"))
}

fn unusable(path: &Path, why: &str) -> OciError {
    OciError::Options { why: format!("{}: {why}", path.display()) }
}

/// The entry of the longest name that covers the repository, as podman looks it up: `host/path`, then shorter ones, then
/// `host`.
fn find<'c>(config: &'c Config, repository: &Repository) -> Option<&'c Entry> {
    let mut name = repository.to_string();
    loop {
        if let Some((_, entry)) = config.auths.iter().find(|(key, _)| covers(key, &name)) {
            return Some(entry);
        }
        let shorter = name.rfind('/')?;
        name.truncate(shorter);
    }
}

/// Whether a key means the name. Docker writes some with a scheme and with the path of an old protocol.
fn covers(key: &str, name: &str) -> bool {
    let bare = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    let bare = bare.trim_end_matches('/').trim_end_matches("/v1").trim_end_matches("/v2");
    bare == name || (bare == "index.docker.io" && name == "docker.io")
}

impl Entry {
    fn login(&self) -> Option<Login> {
        if !self.username.is_empty() {
            return Some(Login { user: self.username.clone(), password: self.password.clone() });
        }
        let text = String::from_utf8(STANDARD.decode(self.auth.trim()).ok()?).ok()?;
        let (user, password) = text.split_once(':')?;
        // Docker pads passwords with zero bytes on some systems.
        Some(Login { user: user.to_owned(), password: password.trim_end_matches('\0').to_owned() })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credentials::Anonymous => f.write_str("Anonymous"),
            Credentials::Basic { user, .. } => f.debug_struct("Basic").field("user", user).finish_non_exhaustive(),
            Credentials::DockerConfig(path) => f.debug_tuple("DockerConfig").field(path).finish(),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn the_longest_name_that_covers_a_repository_gives_its_user() {
        let auth = |user: &str| format!(r#"{{"auth": "{}"}}"#, STANDARD.encode(format!("{user}:p:w")));
        let config = file(&format!(
            r#"{{"auths": {{
                "quay.io": {}, "quay.io/team": {}, "https://index.docker.io/v1/": {}, "https://r.example.com/v2/": {},
                "plain.example.com:5000": {{"username": "named", "password": "secret"}}, "empty.example.com": {{}}
            }}, "credsStore": "desktop"}}"#,
            auth("all"),
            auth("team"),
            auth("hub"),
            auth("other"),
        ));
        let credentials = Credentials::DockerConfig(config.path().to_owned());
        let user = |repository: &str| {
            let login = credentials.login(&repository.parse().unwrap()).unwrap();
            login.map(|login| (login.user, login.password))
        };
        let login = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        for (repository, want) in [
            ("quay.io/a/b", login("all", "p:w")),
            ("quay.io/team", login("team", "p:w")),
            ("quay.io/team/b", login("team", "p:w")),
            ("quay.io/teams/b", login("all", "p:w")),
            ("docker.io/library/a", login("hub", "p:w")),
            ("r.example.com/a", login("other", "p:w")),
            ("plain.example.com:5000/a", login("named", "secret")),
            ("plain.example.com/a", None),
            ("quay.io.example.com/a", None),
        ] {
            assert_eq!(user(repository), want, "{repository}");
        }
        let error = credentials.login(&"empty.example.com/a".parse().unwrap()).unwrap_err().to_string();
        assert!(error.ends_with("an entry of `auths` has no credentials"), "{error}");
    }

    #[test]
    fn secrets_are_not_printed() {
        let basic = Credentials::Basic { user: "me".into(), password: "hunter2".into() };
        let shown = format!("{basic:?} {:?}", basic.login(&"a.b/c".parse().unwrap()));
        assert!(shown.contains("me") && !shown.contains("hunter2"), "{shown}");
        let broken = file(r#"{"auths": {"a": {"auth": "aHVudGVyMg==""#);
        let error = Credentials::DockerConfig(broken.path().to_owned()).check().unwrap_err().to_string();
        assert!(error.ends_with("it is not a docker config.json") && !error.contains("aHV"), "{error}");
        assert!(Credentials::DockerConfig("/nowhere/config.json".into()).check().is_err());
    }
}
