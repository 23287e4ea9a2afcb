//! The documentation of the reasons that conditions and Events of a ClusterVersion or ComponentVersion have, and of the
//! checks before an update.

use clearway_core::diagnostic::CodePage;

/// The pages of all reasons of conditions and Events.
pub fn reason_pages() -> Vec<CodePage> {
    PAGES.iter().map(page).collect()
}

/// The pages of the checks before an update, by their names.
pub fn check_pages() -> Vec<CodePage> {
    CHECKS.iter().map(page).collect()
}

fn page((reason, [title, meaning, action]): &(&'static str, [&'static str; 3])) -> CodePage {
    CodePage::new(reason, None, title, meaning, action)
}

/// A reason with its title, meaning and action.
#[rustfmt::skip]
const PAGES: &[(&str, [&str; 3])] = &[
    ("AsExpected", ["Everything is as expected", "The condition says nothing beyond its status.", ""]),
    ("FirstRelease", ["The first release is still being applied", "No release was applied completely yet.", "Wait; `clearway upgrade status` shows the progress."]),
    ("GraphFindings", ["Event: parts of the answer of the update service cannot be used", "The rest is used. The message names the codes of what is wrong.", "Look the codes up with `clearway explain CODE`, and report them to the administrators of the service."]),
    ("InvalidClusterVersion", ["The spec is invalid", "A field of the spec has a value that cannot be used, so requests in it are not carried out.", "Correct the fields that the message names."]),
    ("InvalidCurrentVersion", ["The current version is not a semantic version", "The update service cannot be asked about it.", "Adopt the installed version with `clearway install --adopt VERSION`."]),
    ("InvalidID", ["The cluster id is not a UUID", "The update service is not asked with an invalid id.", "Correct `spec.clusterID`."]),
    ("InvalidRequest", ["The request to the update service cannot be made", "A certificate or an option of the connection cannot be used.", "Correct the settings of the operator that the message names."]),
    ("InvalidURI", ["The address of the update service is invalid", "It does not begin with http:// or https://, or cannot be parsed.", "Correct `spec.upstream`, or --upstream of the operator."]),
    ("LoadPayload", ["The release is being loaded, or could not be loaded", "The manifests of the release are read before anything is applied.", "If it failed: `clearway release verify RELEASE` shows what is wrong."]),
    ("LoadPayloadFailed", ["Event: the release could not be loaded", "Its manifests cannot be read. Nothing was applied.", "`clearway release verify RELEASE` shows what is wrong."]),
    ("MetricsReachable", ["Event: the metrics store answers again", "Queries of risks succeed again.", ""]),
    ("MetricsUnreachable", ["Event: the metrics store does not answer", "Queries of risks fail, so conditional updates become Unknown.", "Check Prometheus, its address and the rights of the operator."]),
    ("MoreFailures", ["More failures than are listed", "The message says how many are left out.", "Correct the listed ones first."]),
    ("MultipleErrors", ["Several objects cannot be applied", "The message has one line for each.", "Correct them one by one."]),
    ("NoChannel", ["No channel is set", "Without a channel the update service is not asked.", "Set one with `clearway upgrade channel CHANNEL`."]),
    ("NoCurrentVersion", ["The current version is unknown", "Without it no update can be computed.", "Adopt the installed version with `clearway install --adopt VERSION`."]),
    ("NoReasonGiven", ["No reason was given", "The part that reported the condition gave no reason.", ""]),
    ("NoRelease", ["No release was applied or requested yet", "Clearway does not know what is installed.", "Adopt the installed version with `clearway install --adopt VERSION`, or request a release."]),
    ("NoUpstream", ["No update service is set", "Without one, no updates can be retrieved.", "Set `spec.upstream`, or --upstream of the operator."]),
    ("NotReported", ["Not reported yet", "Nothing has been said about the condition since the object changed.", "Wait for the operator."]),
    ("NotRetrievedYet", ["The update service has not been asked yet", "The operator has just started.", "Wait a moment."]),
    ("NotStorable", ["Updates are left out of the status", "The installed CRD, or the size limit of the API server, does not allow to store them.", "Update the CRDs with `clearway install`; the message names what is left out."]),
    ("Overridden", ["Findings against the running update were overridden", "The update was requested although checks failed. They are listed in the message.", "Watch the objects that are named."]),
    ("PayloadLoaded", ["The release was retrieved, verified and loaded", "The update can begin.", ""]),
    ("PreconditionBlock", ["Event: a check before the update blocks it", "The operator is configured to hold the update up for such a finding. Nothing was applied.", "Correct what the message names, or override the check in the request."]),
    ("PreconditionChecks", ["The checks before the update run, or block it", "Each check looks at the cluster before the first write.", "If it is False: correct what the message names."]),
    ("PreconditionWarn", ["Event: checks before the update found something", "The update continues. The message has one line for each finding.", "Look at the objects that are named."]),
    ("PreconditionsPassed", ["Event: no check is a reason not to update", "The checks found nothing.", ""]),
    ("ReleaseApplied", ["The release is applied", "Every object of the release is applied and healthy.", ""]),
    ("RemoteFailed", ["The update service cannot be reached", "The connection failed, or the service did not answer in time. It is asked again; the updates in the status are the last known ones.", "Check the address, the network and the certificate."]),
    ("ResponseFailed", ["The update service refused the request", "It answered with an error.", "Check the channel and the address; the message has the answer."]),
    ("ResponseInvalid", ["The answer of the update service cannot be used", "It is not a graph, or is too large.", "Check that the address is that of an update service (Cincinnati protocol)."]),
    ("RetrievePayload", ["The release is being retrieved, or could not be retrieved", "The image is pulled, and its digest and signature are checked.", "If it failed: check the registry, the credentials and the key of the signer."]),
    ("RetrievePayloadFailed", ["Event: the release could not be retrieved", "The image cannot be pulled, has another digest, or is not signed by a trusted key. Nothing was applied.", "Check the registry, the credentials and the key of the signer."]),
    ("RevisionSetAside", ["An answer of the update service is not used", "The operator ended while it assessed this answer, so it is not tried again for now.", "Report it. Change the annotation that the message names to try it again."]),
    ("StaleObservation", ["The status is about an older spec", "The object changed after the condition was reported.", "Wait for the operator."]),
    ("StatusNotStored", ["Event: the status could not be written", "What clients see is older than what the operator knows. It is tried again.", "Read the cause in the message: rights, size, or a validating policy."]),
    ("UpdateBegun", ["Event: the update begins or continues", "From here objects are written.", ""]),
    ("UpdateCompleted", ["Event: the update is complete", "Every object is applied and healthy.", ""]),
    ("UpdateFailed", ["The update cannot continue", "An object cannot be applied, or is not healthy. It is tried again.", "Correct the object that the message names; `clearway upgrade status` shows the rest."]),
    ("UpdateFailing", ["Event: the update cannot continue for now", "An object cannot be applied, or is not healthy. It is tried again.", "Correct the objects that the message names."]),
    ("UpdateLeftOut", ["Event: an update is left out of the status", "It cannot be stored as it is.", "Update the CRDs with `clearway install`."]),
    ("Updating", ["An update is being applied", "The message has the number of objects that are done, and what is waited for.", "Wait; `clearway upgrade status` shows the progress."]),
    ("VerifyPayloadVersion", ["The version of the release is being verified, or is another one", "The version in the release must be the requested one.", "If it failed: correct the update graph or the release."]),
    ("VerifyPayloadVersionFailed", ["Event: the release has another version", "The version in the release is not the requested one. Nothing was applied.", "Correct the update graph or the release."]),
    ("VersionNotFound", ["The current version is not in the channel", "The update service does not list it, so it cannot say which updates follow.", "Choose a channel that has the version: `clearway graph list` shows the channels of a graph."]),
];

/// A check with its title, meaning and action.
#[rustfmt::skip]
const CHECKS: &[(&str, [&str; 3])] = &[
    ("CRDs", ["Check before an update: the CRDs of the release", "The release changes CRDs in a way that loses or refuses stored objects.", "`clearway bundle preflight` names the objects; correct them first."]),
    ("Definitions", ["Check before an update: definitions that objects need", "The release has objects of kinds that neither the cluster nor the release defines.", "Install the CRDs first, or add them to the release."]),
    ("DryRun", ["Check before an update: a dry run of every object", "The API server refuses objects of the release.", "Read the message of the API server, and correct the manifest or the cluster."]),
    ("Health", ["Check before an update: the health of the installed objects", "Objects of the present release are not healthy, so the update starts from an unknown state.", "`clearway status show` names them; correct them first."]),
    ("Owners", ["Check before an update: objects that belong to someone else", "The release would overwrite objects that another release or tool owns.", "Remove them from one of the two, or change their owner label."]),
    ("Policies", ["Check before an update: policies of the cluster", "Constraints of the cluster deny objects of the release.", "`clearway policy preview` shows them; change the object or the constraint."]),
    ("Room", ["Check before an update: room for pods", "Nodes do not have enough free CPU, memory or pods for a rollout.", "Add nodes, or lower requests."]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight;

    #[test]
    fn every_check_has_its_page() {
        let mut names: Vec<&str> = preflight::CHECKS.iter().map(|check| check.name()).collect();
        names.sort_unstable();
        assert_eq!(names, CHECKS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }

    #[test]
    fn reasons_are_in_order() {
        assert!(PAGES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
