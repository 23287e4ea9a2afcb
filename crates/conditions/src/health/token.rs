//! Whether an object has moved: a number that changes with its counters, conditions and generation.

use clearway_yaml::Node;

use crate::object::Object;

/// Fields that change while nothing happens: a heartbeat is not progress.
const HEARTBEATS: [&str; 4] = ["lastHeartbeatTime", "lastProbeTime", "lastUpdateTime", "renewTime"];

/// A number that is the same for two states of an object unless its uid, its generation, the start of its deletion or
/// its status differ; heartbeats do not count. The resource version is left out for the same reason.
pub fn progress_token(object: &Object<'_>) -> u64 {
    let mut hash = Fnv::default();
    for key in ["uid", "generation", "deletionTimestamp"] {
        hash.write(object.root.at(&["metadata", key]).map_or("", Node::raw));
    }
    if let Some(status) = object.root.get("status") {
        hash.walk(status);
    }
    hash.0
}

/// FNV-1a: the same on every machine and in every version, which the standard library's hasher does not promise.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, text: &str) {
        // 0xff never occurs in UTF-8, so that `ab`, `c` and `a`, `bc` differ.
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Nesting is bounded by what the parser admits.
    fn walk(&mut self, node: Node<'_>) {
        self.write(node.describe());
        self.write(node.raw());
        for item in node.items() {
            self.walk(item);
        }
        for (key, value) in node.fields().filter(|(key, _)| !HEARTBEATS.contains(&key.raw())) {
            self.write(key.raw());
            self.walk(value);
        }
    }
}
