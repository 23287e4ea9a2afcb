//! The sample product of all scenarios but the story: its graph-data, its cluster, and three of its releases.

use clearway_core::Version;

use super::product::{Embedded, Product, Releases, embedded};
use super::stage::Setting;

/// The sample product, and a cluster that runs it.
pub(super) const PLATFORM: Product = Product {
    home: "examples",
    graph_data: embedded! { "graph-data":
        "blocked-edges/1.5.0-ProxyTimeouts.yaml"
        "blocked-edges/1.5.0-SlowEtcd.yaml"
        "blocked-edges/1.5.0-VSphereOldHardware.yaml"
        "blocked-edges/1.5.0-rc.1-VSphereOldHardware.yaml"
        "blocked-edges/1.5.0.yaml"
        "blocked-edges/1.5.1-IngressSettingsLost.yaml"
        "blocked-edges/1.5.1-ProxyTimeouts.yaml"
        "blocked-edges/1.5.1-SlowEtcd.yaml"
        "blocked-edges/1.5.1-VSphereOldHardware.yaml"
        "blocked-edges/1.5.2-SlowEtcd.yaml"
        "blocked-edges/1.5.2-VSphereOldHardware.yaml"
        "channels/candidate-1.5.yaml"
        "channels/fast-1.5.yaml"
        "channels/stable-1.5.yaml"
        "raw/metadata.json"
        "releases/platform.yaml"
        "risks/IngressSettingsLost.yaml"
        "risks/ProxyTimeouts.yaml"
        "risks/SlowEtcd.yaml"
        "risks/VSphereOldHardware.yaml"
        "version"
    },
    cluster: embedded! { "cluster": "series.snap" "snapshot.json" },
};

/// The channel that most of its clusters follow.
pub(super) const CHANNEL: &str = "stable-1.5";

/// A metric that the sample cluster does not have, and one of its risks asks for.
pub(super) const FAST_DISKS: &str = "etcd_disk_wal_fsync_p99_seconds 0.012\n";

const RELEASES: [(&str, Embedded); 3] = [
    (
        "1.4.2",
        embedded! { "releases/1.4.2/release-manifests":
            "0000_10_core_00-namespace_platform.yaml"
            "0000_10_core_01-crd_gateways.platform.example.com.yaml"
            "0000_50_api_20-serviceaccount_platform_api.yaml"
            "0000_50_api_21-configmap_platform_banner.yaml"
            "0000_50_api_21-configmap_platform_settings.yaml"
            "0000_50_api_40-service_platform_api.yaml"
            "0000_50_api_50-deployment.apps_platform_api.yaml"
            "0000_60_gateway_60-gateway.platform.example.com_platform_main.yaml"
            "release-metadata"
        },
    ),
    (
        "1.4.3",
        embedded! { "releases/1.4.3/release-manifests":
            "0000_10_core_00-namespace_platform.yaml"
            "0000_10_core_01-crd_gateways.platform.example.com.yaml"
            "0000_50_api_20-serviceaccount_platform_api.yaml"
            "0000_50_api_21-configmap_platform_banner.yaml"
            "0000_50_api_21-configmap_platform_settings.yaml"
            "0000_50_api_40-service_platform_api.yaml"
            "0000_50_api_50-deployment.apps_platform_api.yaml"
            "0000_60_gateway_60-gateway.platform.example.com_platform_main.yaml"
            "release-metadata"
        },
    ),
    (
        "1.5.2",
        embedded! { "releases/1.5.2/release-manifests":
            "0000_10_core_00-namespace_platform.yaml"
            "0000_10_core_01-crd_gateways.platform.example.com.yaml"
            "0000_50_api_20-serviceaccount_platform_api.yaml"
            "0000_50_api_21-configmap_platform_settings.yaml"
            "0000_50_api_40-service_platform_api.yaml"
            "0000_50_api_50-deployment.apps_platform_api.yaml"
            "0000_60_gateway_60-gateway.platform.example.com_platform_main.yaml"
            "release-metadata"
        },
    ),
];

/// The product with its cluster at 1.4.2; `more` are metrics beyond those of the sample.
pub(super) fn setting(more: &str) -> Setting {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    let releases: Releases =
        RELEASES.iter().map(|(version, files)| (*version, files.iter().map(owned).collect())).collect();
    Setting {
        product: PLATFORM,
        releases,
        version: Version::new(1, 4, 2),
        channel: CHANNEL,
        metrics: PLATFORM.metrics() + more,
    }
}
