//! Certificates, keys, tokens and kubeconfigs, made anew for each run.

use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

use crate::error::{Error, Result};

/// The name under which the API server asks aggregated API servers on behalf of others.
pub(crate) const FRONT_PROXY: &str = "front-proxy-client";

/// A certificate and its key, both as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The private key (PKCS #8).
    pub key: String,
}

/// A certificate authority of one run.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    /// Makes a new authority.
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate })
    }

    /// The authority's own certificate, as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A certificate for a server with these names or addresses.
    pub fn server(&self, names: &[&str]) -> Result<Identity> {
        let params = CertificateParams::new(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())?;
        self.issue(params, names.first().copied().unwrap_or("server"), ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A certificate for a client: to Kubernetes the common name is the user, the organisation is the group.
    pub fn client(&self, user: &str, group: Option<&str>) -> Result<Identity> {
        let mut params = CertificateParams::new(Vec::new())?;
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        self.issue(params, user, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(&self, mut params: CertificateParams, name: &str, usage: ExtendedKeyUsagePurpose) -> Result<Identity> {
        params.distinguished_name.push(DnType::CommonName, name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }
}

/// How a user proves who they are.
#[derive(Debug, Clone)]
pub(crate) enum Proof<'a> {
    /// By a client certificate.
    Certificate(&'a Identity),
    /// By a bearer token.
    Token(&'a str),
}

/// The files of one run's credentials, and what is needed to make more.
#[derive(Debug)]
pub(crate) struct Credentials {
    directory: PathBuf,
    server: String,
    pub(crate) authority: Authority,
    pub(crate) authority_file: PathBuf,
    pub(crate) server_certificate: PathBuf,
    pub(crate) server_key: PathBuf,
    /// The authority of the API server as a client of aggregated API servers, and that client's certificate and key.
    pub(crate) front_proxy: [PathBuf; 3],
    /// Signs the tokens of service accounts.
    pub(crate) service_account_key: PathBuf,
    /// Proves them.
    pub(crate) service_account_public_key: PathBuf,
    /// The static tokens that the API server accepts.
    pub(crate) tokens: PathBuf,
    /// The token of the user `admin`.
    pub(crate) admin_token: String,
}

impl Credentials {
    /// Makes all credentials for an API server at `server` (a URL) and writes them into a directory.
    pub(crate) fn new(directory: &Path, server: &str) -> Result<Self> {
        let io = || Error::io(format!("writing credentials into {}", directory.display()));
        fs::create_dir_all(directory).map_err(io())?;
        let write = |name: &str, text: &str| -> Result<PathBuf> {
            let path = directory.join(name);
            fs::write(&path, text).map_err(io())?;
            Ok(path)
        };
        let authority = Authority::new("clearway-testbed")?;
        let serving = authority.server(&[
            "127.0.0.1",
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ])?;
        let front_proxy = Authority::new("clearway-testbed-front-proxy")?;
        let front_proxy_client = front_proxy.client(FRONT_PROXY, None)?;
        let service_accounts = KeyPair::generate()?;
        let admin_token = random_token().map_err(Error::io("reading /dev/urandom"))?;
        Ok(Self {
            directory: directory.to_owned(),
            server: server.to_owned(),
            authority_file: write("ca.crt", authority.certificate())?,
            server_certificate: write("server.crt", &serving.certificate)?,
            server_key: write("server.key", &serving.key)?,
            front_proxy: [
                write("front-proxy-ca.crt", front_proxy.certificate())?,
                write("front-proxy.crt", &front_proxy_client.certificate)?,
                write("front-proxy.key", &front_proxy_client.key)?,
            ],
            service_account_key: write("service-accounts.key", &service_accounts.serialize_pem())?,
            service_account_public_key: write("service-accounts.pub", &service_accounts.public_key_pem())?,
            tokens: write("tokens.csv", &format!("{admin_token},admin,admin,system:masters\n"))?,
            authority,
            admin_token,
        })
    }

    /// Writes a kubeconfig for a user with a client certificate.
    pub(crate) fn kubeconfig(&self, user: &str, group: Option<&str>) -> Result<PathBuf> {
        let identity = self.authority.client(user, group)?;
        self.write_kubeconfig(user, &Proof::Certificate(&identity))
    }

    /// Writes a kubeconfig. Each call writes another one: tests that run at the same time may ask for the same user.
    pub(crate) fn write_kubeconfig(&self, user: &str, proof: &Proof<'_>) -> Result<PathBuf> {
        let io = || Error::io(format!("writing the kubeconfig of {user}"));
        let (mut file, path) = self.new_kubeconfig(user).map_err(io())?;
        let proof = match proof {
            Proof::Token(token) => format!("token: {token}"),
            Proof::Certificate(identity) => {
                let (certificate, key) = (path.with_extension("crt"), path.with_extension("key"));
                fs::write(&certificate, &identity.certificate).map_err(io())?;
                fs::write(&key, &identity.key).map_err(io())?;
                format!("client-certificate: {}\n    client-key: {}", quoted(&certificate), quoted(&key))
            }
        };
        let text = format!(
            "apiVersion: v1
kind: Config
clusters:
- name: testbed
  cluster:
    server: {server}
    certificate-authority: {authority}
users:
- name: user
  user:
    {proof}
contexts:
- name: testbed
  context: {{cluster: testbed, user: user}}
current-context: testbed
",
            server = self.server,
            authority = quoted(&self.authority_file),
        );
        file.write_all(text.as_bytes()).map_err(io())?;
        Ok(path)
    }

    /// A new file, named after the user and, from the second on, with a number.
    fn new_kubeconfig(&self, user: &str) -> std::io::Result<(File, PathBuf)> {
        let stem: String = user.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let mut number = 1;
        loop {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = self.directory.join(format!("{stem}{suffix}.kubeconfig"));
            match File::create_new(&path) {
                Ok(file) => return Ok((file, path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

/// A path as a string of YAML.
fn quoted(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// A secret that nobody can guess, as hexadecimal digits.
fn random_token() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut token = String::new();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = fmt::Write::write_fmt(&mut token, format_args!("{byte:02x}"));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_its_own_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let one = Credentials::new(&dir.path().join("one"), "https://127.0.0.1:1").unwrap();
        let two = Credentials::new(&dir.path().join("two"), "https://127.0.0.1:1").unwrap();
        assert_ne!(one.admin_token, two.admin_token);
        assert_eq!(one.admin_token.len(), 32);
        assert_ne!(one.authority.certificate(), two.authority.certificate());
    }

    #[test]
    fn a_kubeconfig_is_what_clients_read() {
        let dir = tempfile::tempdir().unwrap();
        let credentials = Credentials::new(dir.path(), "https://127.0.0.1:6443").unwrap();
        let path = credentials.kubeconfig("system:serviceaccount/x", Some("a group")).unwrap();
        assert_eq!(path.file_name().unwrap(), "system-serviceaccount-x.kubeconfig");
        let config = kube::config::Kubeconfig::read_from(&path).unwrap();
        let again = credentials.kubeconfig("system:serviceaccount/x", None).unwrap();
        assert_eq!(again.file_name().unwrap(), "system-serviceaccount-x-2.kubeconfig");
        assert_ne!(fs::read(path.with_extension("crt")).unwrap(), fs::read(again.with_extension("crt")).unwrap());
        assert_eq!(config.current_context.as_deref(), Some("testbed"));
        let path = credentials.write_kubeconfig("token", &Proof::Token("secret")).unwrap();
        assert!(fs::read_to_string(path).unwrap().contains("    token: secret\n"));
    }
}
