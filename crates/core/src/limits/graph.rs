//! What an update graph may hold: in the files of graph-data, and in one answer of an update service.
//!
//! The need beside each cap was measured on the public graph-data of OpenShift (eight years, five architectures) with
//! `cargo run --release -p clearway-server --example needs`. Counts are taken before anything is built from them, so that
//! a cap bounds the work as well.

use super::cap::caps;

caps! {
    /// The caps on graph-data and on answers.
    ///
    /// Above a cap on one element (a release, a risk, an expression) that element is refused, and its updates are blocked
    /// or removed. Above a cap on the whole, the revision or the answer is refused, and the last good one stays.
    GraphLimits {
        /// Bytes of all files of graph-data, unpacked
        data_bytes: u64 = 64 << 20, needs 5_754_257;
        /// Bytes of graph-data as a service sends it, compressed
        packed_bytes: u64 = 16 << 20, needs 567_192;
        /// Files of graph-data
        files: usize = 200_000, needs 1_796;
        /// Bytes of the path of a file
        path_bytes: usize = 1 << 10, needs 85;
        /// Values of one object in a file, after YAML aliases were followed
        object_values: usize = 100_000, needs 283;
        /// Levels of nesting of one object in a file
        object_depth: usize = 128, needs 4;
        /// Releases, over all architectures
        releases: usize = 60_000, needs 5_739;
        /// Architectures
        arches: usize = 50, needs 5;
        /// Different versions that releases name
        versions: usize = 30_000, needs 1_365;
        /// Entries of `previous` and `next` of one release
        neighbours: usize = 10_000, needs 159;
        /// Updates that releases list, over all architectures
        edges: usize = 3_500_000, needs 319_404;
        /// Metadata keys of one release
        metadata_keys: usize = 1_000, needs 4;
        /// Bytes of the payload and the metadata of one release
        release_bytes: usize = 64 << 10, needs 651;
        /// Bytes of the payload and the metadata of all releases, the names of their channels included
        release_texts: usize = 32 << 20, needs 2_504_910;
        /// Channels
        channels: usize = 100_000, needs 76;
        /// Bytes of the name of a channel
        channel_name_bytes: usize = 256, needs 14;
        /// Versions, and tombstones, that one channel lists
        channel_versions: usize = 5_000, needs 270;
        /// Versions that all channels list, tombstones included
        channel_entries: usize = 250_000, needs 8_932;
        /// Releases in channels, each counted once for each of its channels
        channel_members: usize = 2_000_000, needs 38_798;
        /// Blocks, including those of declared risks
        blocks: usize = 20_000, needs 1_717;
        /// Version ranges of one declared risk
        ranges: usize = 1_000, needs 0;
        /// Version ranges of all declared risks
        ranges_in_all: usize = 100_000, needs 0;
        /// Updates that blocks are matched against, counted once for each block
        block_trials: usize = 5_000_000, needs 284_483;
        /// Different expressions for sources
        patterns: usize = 2_000, needs 109;
        /// Bytes of one expression
        pattern_bytes: usize = 16 << 10, needs 76;
        /// Positions of one expression, with its repetitions expanded
        pattern_positions: usize = 5_000, needs 42;
        /// Bytes of one expression when compiled
        pattern_compiled_bytes: usize = 1 << 20, needs 1_832;
        /// Positions times searched bytes, over all expressions
        pattern_work: u64 = 1_000_000_000, needs 9_308_289;
        /// Different risks
        risks: usize = 2_000, needs 124;
        /// Bytes of one risk, as JSON
        risk_bytes: usize = 64 << 10, needs 1_367;
        /// Bytes of all different risks, as JSON
        risks_bytes: usize = 2 << 20, needs 60_029;
        /// Bytes of the name of a risk
        name_bytes: usize = 1 << 10, needs 54;
        /// Bytes of the url of a risk
        url_bytes: usize = 2 << 10, needs 55;
        /// Bytes of the message of a risk
        message_bytes: usize = 16 << 10, needs 571;
        /// Matching rules of one risk
        rules: usize = 32, needs 1;
        /// Matching rules of all different risks
        rules_in_all: usize = 8_000, needs 124;
        /// Different queries of PromQL rules
        queries: usize = 1_000, needs 64;
        /// Different `Resource`, `Condition` and `Bundle` rules, which read objects of a cluster
        object_questions: usize = 1_000, needs 0;
        /// Bytes of one query
        query_bytes: usize = 16 << 10, needs 975;
        /// Bytes of one answer
        answer_bytes: usize = 16 << 20, needs 521_686;
        /// Releases of one answer
        answer_nodes: usize = 5_000, needs 270;
        /// Updates of one answer
        answer_edges: usize = 500_000, needs 16_755;
        /// Groups of conditional updates of one answer
        answer_groups: usize = 20_000, needs 79;
        /// Risks of all groups of one answer, each counted once for each group
        answer_risks: usize = 50_000, needs 244;
        /// Risks that are merged for updates that are in several groups of one answer
        answer_united: usize = 200_000, needs 0;
        /// Bytes of the risks of all updates from one version, each counted once for each update
        version_risk_bytes: usize = 4 << 20, needs 108_370;
        /// Answers of one revision: channels times architectures
        answers: usize = 500_000, needs 380;
        /// Bytes of all different answers of one revision, before compression
        answers_bytes: u64 = 1 << 30, needs 49_427_767;
        /// Updates that are read to build all different answers of one revision
        answers_edges: u64 = 100_000_000, needs 2_118_666;
        /// Bytes of all different answers of one revision and of its files, compressed
        answers_packed: u64 = 96 << 20, needs 7_218_260;
        /// Bytes of all answers that a mirror stores, compressed
        mirror_bytes: u64 = 80 << 20, needs 6_651_068;
        /// Findings that are listed for each code; further ones are only counted
        findings: usize = 5_000, needs 283;
    }
}
