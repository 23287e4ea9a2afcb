//! Which certificates there are at a time: what is renewed, and what overlaps. The time is an argument.
//!
//! A new authority is published for [`OVERLAP`] before it signs, and the one before it stays for [`OVERLAP`] after the
//! last certificate that it signed was replaced. So every replica may be that late to show a new certificate, and the API
//! server to see a new bundle, and they still trust each other.

use std::time::Duration;

use clearway_core::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use serde::{Deserialize, Serialize};

const DAY: Duration = Duration::from_hours(24);
/// How long an authority is valid, and how long before its end there is another one.
pub const AUTHORITY: (Duration, Duration) = (DAY.saturating_mul(730), DAY.saturating_mul(180));
/// How long a certificate is valid, and how long before its end it is renewed.
pub const SERVER: (Duration, Duration) = (DAY.saturating_mul(90), DAY.saturating_mul(30));
/// How long old and new are valid side by side.
pub const OVERLAP: Duration = Duration::from_hours(1);
/// Certificates are valid from a little before they are made, because clocks differ.
const BEFORE: Duration = Duration::from_mins(5);

/// Why a certificate cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    /// The library refuses, for example a name that is no DNS name.
    #[error("{0}")]
    Certificate(#[from] rcgen::Error),
    /// A time cannot be written.
    #[error("the time {0} is out of range")]
    Time(Timestamp),
}

/// A certificate, its key, and what is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The name of an authority; of a certificate, that of the authority that signed it.
    pub authority: String,
    /// PEM.
    pub certificate: String,
    /// PEM (PKCS #8).
    pub key: String,
    /// When it was made, in seconds since 1970.
    pub created: i64,
    /// When it ends, in seconds since 1970.
    pub expires: i64,
    /// The names of the server.
    #[serde(default)]
    pub names: Vec<String>,
}

impl Certificate {
    fn left(&self, now: Timestamp) -> i64 {
        self.expires.saturating_sub(now.as_seconds())
    }

    fn is_older_than(&self, age: Duration, now: Timestamp) -> bool {
        now.as_seconds().saturating_sub(self.created) >= seconds(age)
    }
}

/// All certificates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificateSet {
    /// The authorities, the oldest first.
    pub authorities: Vec<Certificate>,
    /// The certificate that is shown to clients.
    pub server: Certificate,
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

impl CertificateSet {
    /// The certificates of all authorities, as PEM.
    pub fn bundle(&self) -> String {
        self.authorities.iter().map(|authority| authority.certificate.as_str()).collect()
    }

    /// The set that there should be at a time; nothing if it is the one there is.
    pub fn renewed(
        known: Option<&CertificateSet>,
        names: &[String],
        now: Timestamp,
    ) -> Result<Option<CertificateSet>, RotationError> {
        let before = known.cloned().unwrap_or_default();
        let mut set = before.clone();
        set.authorities.retain(|authority| authority.left(now) > 0);
        let newest = set.authorities.last();
        if newest.is_none_or(|newest| newest.left(now) < seconds(AUTHORITY.1)) {
            set.authorities.push(new_authority(now)?);
        }
        // One that was just made is used only if there is no other.
        let published = set.authorities.iter().rev().find(|authority| authority.is_older_than(OVERLAP, now));
        if let Some(signer) = published.or(set.authorities.first())
            && set.needs_certificate(signer, names, now)
        {
            set.server = new_certificate(signer, names, now)?;
        }
        if set.server.is_older_than(OVERLAP, now) {
            let signer = set.authorities.iter().position(|authority| authority.authority == set.server.authority);
            set.authorities.drain(..signer.unwrap_or(0));
        }
        Ok((set != before).then_some(set))
    }

    fn needs_certificate(&self, signer: &Certificate, names: &[String], now: Timestamp) -> bool {
        let Certificate { authority, names: known, .. } = &self.server;
        let is_trusted = self.authorities.iter().any(|one| one.authority == *authority);
        let is_by_older = *authority != signer.authority
            && self.authorities.iter().any(|one| one.authority == *authority && one.created <= signer.created);
        !is_trusted || is_by_older || known != names || self.server.left(now) < seconds(SERVER.1)
    }
}

/// Parameters that are valid from a little before now.
fn parameters(names: Vec<String>, now: Timestamp, expires: Timestamp) -> Result<CertificateParams, RotationError> {
    let mut params = CertificateParams::new(names)?;
    let time = |time: Timestamp| {
        let since = u64::try_from(time.as_seconds()).map_err(|_| RotationError::Time(time))?;
        date_time_ymd(1970, 1, 1)
            .checked_add(Duration::from_secs(since).try_into().map_err(|_| RotationError::Time(time))?)
            .ok_or(RotationError::Time(time))
    };
    params.not_before = time(now.minus(BEFORE))?;
    params.not_after = time(expires)?;
    Ok(params)
}

fn authority_parameters(name: &str, now: Timestamp, expires: Timestamp) -> Result<CertificateParams, RotationError> {
    let mut params = parameters(Vec::new(), now, expires)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    Ok(params)
}

fn new_authority(now: Timestamp) -> Result<Certificate, RotationError> {
    let expires = now.plus(AUTHORITY.0);
    // Names differ, so that clients find the one that signed.
    let name = format!("clearway-policies {now}");
    let key = KeyPair::generate()?;
    Ok(Certificate {
        certificate: authority_parameters(&name, now, expires)?.self_signed(&key)?.pem(),
        authority: name,
        key: key.serialize_pem(),
        created: now.as_seconds(),
        expires: expires.as_seconds(),
        names: Vec::new(),
    })
}

fn new_certificate(signer: &Certificate, names: &[String], now: Timestamp) -> Result<Certificate, RotationError> {
    let mut expires = now.plus(SERVER.0);
    if let Ok(end) = Timestamp::from_seconds(signer.expires) {
        expires = expires.min(end);
    }
    let issuer = authority_parameters(&signer.authority, now, expires)?;
    let issuer = Issuer::new(issuer, KeyPair::from_pem(&signer.key)?);
    let mut params = parameters(names.to_vec(), now, expires)?;
    params.distinguished_name.push(DnType::CommonName, "clearway-policies");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    Ok(Certificate {
        authority: signer.authority.clone(),
        certificate: params.signed_by(&key, &issuer)?.pem(),
        key: key.serialize_pem(),
        created: now.as_seconds(),
        expires: expires.as_seconds(),
        names: names.to_vec(),
    })
}

#[cfg(test)]
mod tests;
