//! Objects that are taken by every channel, to begin with.

use serde_json::{Value, json};

pub(crate) fn spec() -> Value {
    json!({
        "clusterID": "9e8e9d2c-5a37-4b2b-8a3e-0c5a1ad2e2bb",
        "upstream": "https://example.com/graph",
        "channel": "stable-4.6",
        "desiredUpdate": {"architecture": "", "version": "4.7.4", "image": "", "force": false},
        "capabilities": {"baselineCapabilitySet": "None", "additionalEnabledCapabilities": ["Console"]},
        "signatureStores": [
            {"url": "https://example.com/signatures", "ca": {"name": "roots"}},
            {"url": "https://example.com/more"},
        ],
        "overrides": [
            {"kind": "Deployment", "group": "apps", "namespace": "a", "name": "b", "unmanaged": true},
            {"kind": "Deployment", "group": "apps", "namespace": "a", "name": "c", "unmanaged": false},
        ],
        "acceptedRisks": [{"name": "A", "reason": "tested", "until": "2030-01-01T00:00:00Z"}, {"name": "B", "reason": "r"}],
    })
}

pub(crate) fn status() -> Value {
    let release = |version: &str| {
        json!({
            "version": version, "image": format!("quay.example/release@sha256:{version}"),
            "url": "https://example.com/errata", "channels": ["fast-4.6", "stable-4.6"], "architecture": "Multi",
        })
    };
    json!({
        "desired": release("4.6.23"),
        "history": [
            {
                "state": "Completed", "startedTime": "2021-08-28T02:00:00Z", "completionTime": "2021-08-28T03:00:00Z",
                "version": "4.6.23", "image": "i", "verified": true, "acceptedRisks": "none\n",
            },
        ],
        "observedGeneration": 4,
        "versionHash": "DL-FFQ2Uem8=",
        "capabilities": {"enabledCapabilities": ["Console"], "knownCapabilities": ["Console", "Insights"]},
        "conditions": [
            {"type": "Available", "status": "True", "lastTransitionTime": "2021-08-28T02:00:00Z"},
            {
                "type": "Progressing", "status": "False", "lastTransitionTime": "2021-08-28T02:00:00Z", "reason": "AsExpected",
                "message": "Cluster version is 4.6.23", "severity": "Info", "observedGeneration": 4,
            },
        ],
        "availableUpdates": [release("4.6.43"), release("4.6.42")],
        "conditionalUpdates": [{
            "release": release("4.7.4"),
            "risks": [
                {
                    "url": "https://bugzilla.example.com/show_bug.cgi?id=1941840#c33",
                    "name": "AuthOAuthProxyLeakedConnections",
                    "message": "On clusters with a Proxy configured, the operator may keep many connections open.",
                    "matchingRules": [
                        {"type": "PromQL", "promql": {"promql": "max(cluster_proxy_enabled{type=~\"https?\"})"}},
                        {"type": "Always"},
                    ],
                },
                {
                    "url": "https://example.com/2", "name": "Other", "message": "m",
                    "matchingRules": [{"type": "Always", "rollout": {"start": "2026-05-04T09:00:00Z", "x": [null, 1]}}],
                },
            ],
            "conditions": [
                {
                    "type": "Evaluating", "status": "True", "reason": "EvaluatingRisks", "message": "m",
                    "lastTransitionTime": "2021-08-28T01:00:00Z",
                },
                {
                    "type": "Recommended", "status": "False", "reason": "MultipleReasons", "message": "",
                    "lastTransitionTime": "2021-08-28T01:05:00Z", "observedGeneration": 1,
                },
            ],
        }],
    })
}
