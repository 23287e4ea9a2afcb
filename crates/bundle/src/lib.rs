//! CRD bundles: which change may ship at which version, how Rust types become CRDs, and what an installed CRD accepts.
//!
//! - [`BundleReader`] reads install files, or objects of a cluster, into a [`Bundle`]: CRDs, admission policies and
//!   webhooks of one version and channel (V1).
//! - [`Comparison::judge`] asks the rules R01 to R46 ([`RULES`]) what changed between two bundles, and whether their
//!   versions allow it (V3). [`Waivers`] are exceptions with a reason and an end. [`NameLedger`] keeps names that were
//!   removed (V4), [`compare_channels`] compares the channels of one version (V2), and [`conversion_losses`] says what
//!   objects lose between API versions (V5). [`guard_policy`] keeps older bundles out of a cluster,
//!   [`installed_bundles`] tells what a cluster has, and [`Preflight`] what a new bundle would do to its objects (V7, V8).
//! - [`Definition::crd`] turns the schema that `schemars` makes of a type into a CRD of one [`Channel`], with the
//!   annotations of the bundle (V1). What is experimental is marked in the type, with the keyword [`CHANNEL_KEYWORD`], and
//!   exists in the experimental channel only (V2). Same types, same bytes.
//! - [`CrdSchema`] reads the schema of any CRD as it is installed, and says of an object what the API server would: what
//!   it drops, and what it refuses (U15).

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)
)]

mod channel;
mod channels;
mod conversion;
mod crd_schema;
mod finding;
mod generate;
mod guard;
mod installed;
mod judge;
mod ledger;
mod model;
mod patterns;
mod preflight;
mod read;
mod rules;
mod waivers;

pub use channel::{BUNDLE_VERSION, CHANNEL, Channel, Installed, UnknownChannel};
pub use channels::{ChannelDifference, compare_channels};
pub use conversion::{
    ConversionError, ConversionLoss, ConversionLossKind, ConvertedObject, ObjectConverter, conversion_losses,
};
pub use crd_schema::{CrdSchema, Report};
pub use finding::{AppliedWaiver, Finding, RuleId, Verdict};
pub use generate::{
    BuildError, CHANNEL_KEYWORD, Column, Definition, described, to_yaml, write_escaped_yaml, write_plain_yaml,
};
pub use guard::guard_policy;
pub use installed::{
    InstallationProblem, InstalledBundle, ProblemKind, annotation_domains, compare_installed, installation_record,
    installed_bundle_of, installed_bundles,
};
pub use judge::{Comparison, Judgement, Outcome, Step};
pub use ledger::NameLedger;
pub use model::{
    AdditionalFields, AdmissionPolicy, ApiVersion, Bundle, BundleVersion, CelRule, Crd, FieldPath, FieldPathError,
    FieldSchema, FieldUse, Keywords, Level, WebhookConfiguration, Workload,
};
pub use patterns::{Inclusion, PatternComparer, Texts};
pub use preflight::{AffectedObject, Preflight, PreflightFinding, PreflightProblem, PreflightSeverity};
pub use read::{BundleLimits, BundleReader, codes};
pub use rules::{ExamplePair, RULES, Rule};
pub use waivers::Waivers;
