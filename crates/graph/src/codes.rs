//! What can be wrong with graph-data or a graph on the wire: one table of codes, titles and texts.
//!
//! The reader of this crate uses `GD0nn`, and [`mod@crate::lint`] `GD1nn`. Start at [`CODES`].

mod pages;

use clearway_core::diagnostic::sarif;
use clearway_core::{Diagnostic, Severity};

pub use pages::pages;

/// What there is to say about a code, whatever was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// The stable code, such as `GD021`.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// One line: what is wrong.
    pub title: &'static str,
    /// What is done about it, and why.
    pub text: &'static str,
}

impl Code {
    /// A finding of this code.
    pub(crate) fn finding(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.code, self.severity, message)
    }
}

macro_rules! codes {
    ($($name:ident $code:literal $severity:ident $title:literal $text:literal)*) => {
        $(
            #[doc = $title]
            pub const $name: Code =
                Code { code: $code, severity: Severity::$severity, title: $title, text: $text };
        )*
        /// Every code, in order.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

codes! {
    VERSION_UNREADABLE "GD001" Error "The `version` file is missing or unreadable"
        "Without it, the format of the files is unknown, so the revision is refused."
    VERSION_OTHER_MAJOR "GD002" Error "The `version` file names another major version"
        "Another major version may change what a block means, so the revision is refused."
    VERSION_NEWER_MINOR "GD003" Warning "The `version` file names a newer minor version"
        "The files are read; additions of the newer minor version are ignored."
    FILE_NAME "GD004" Warning "A file name that services treat differently"
        "Cincinnati reads `.yaml` files directly in a directory. A `.yml` file is read here and ignored there; any other name is ignored by both."
    UNKNOWN_KEY "GD005" Warning "An unknown key"
        "It has no effect. A misspelt key is the usual cause."
    REPEATED_KEY "GD006" Error "A key that occurs twice"
        "Which value is right is unknown. A repeated `from` blocks every source; a repeated `matchingRules`, or a repeated key in it, makes the risk apply to every cluster; a repeated `to`, `name` or `versions` makes the file unreadable; a release with a repeated key is not served; for any other key, the last value is used."
    NOT_ONE_DOCUMENT "GD007" Error "A file that does not contain exactly one object"
        "What the file blocks or lists is unknown, so the revision is refused."
    FILE_UNREADABLE "GD008" Error "A file that exists and cannot be read"
        "A broken link or one that leaves the directory, a named pipe, a directory instead of a file, a name that is not UTF-8, permission denied: the file may block an edge, so the revision is refused. The same holds in a directory, an archive, a git revision and an image."
    CHANNEL_UNREADABLE "GD010" Error "A channel file that cannot be read"
        "Without it, the version of a cluster may be missing from its own channel, so the revision is refused."
    CHANNEL_VERSION "GD011" Error "An entry of a channel that is not a version"
        "The entry is ignored; the others are served."
    CHANNEL_TWICE "GD012" Warning "Two files declare the same channel"
        "The channel contains the versions of both."
    CHANNEL_TOMBSTONE "GD013" Info "A tombstoned version is still listed"
        "It is still served, because removing it would strand the clusters that run it. Edges to and from a tombstoned version were never supported."
    CHANNEL_NAME "GD014" Warning "A channel name that no client can ask for"
        "Update services accept lower-case letters, digits, `-` and `.` only."
    BLOCK_TARGET "GD020" Error "A block whose `to` cannot be read"
        "Which edges it blocks is unknown, so the revision is refused."
    BLOCK_SOURCE "GD021" Error "A block whose `from` cannot be read"
        "It counts as `.*`: every source is blocked. A service that skips the file would leave the edges open."
    BLOCK_INCOMPLETE "GD022" Error "A risk without all of `url`, `name` and `message`"
        "Clients cannot show it, so the edges are removed."
    BLOCK_NO_RULES "GD023" Warning "A risk without `matchingRules`"
        "It is served with the rule `Always`: no cluster is recommended the update."
    BLOCK_RULES "GD024" Error "`matchingRules` that cannot be read"
        "The risk is served with the rule `Always`: no cluster is recommended the update."
    RULE_TYPE "GD025" Warning "A rule type that this program does not support"
        "It is served unchanged with its parameters. A cluster that does not support it tries the next rule; if no rule is left, the update is not recommended. A misspelt type is the usual cause."
    BLOCK_FIXED_IN "GD026" Warning "A `fixedIn` that is not a version"
        "It has no effect on the graph."
    RISK_NAME "GD027" Warning "Two different risks with the same name"
        "Both are served where both apply. Clients identify risks by name, so they may show only one of them."
    BLOCK_AUTO_EXTEND "GD028" Warning "An `autoExtend` that is not a URL"
        "It links to the issue that asks to extend the risk to new releases; tools that promote releases show it. It has no effect on the graph."
    RAW_UNREADABLE "GD030" Error "`raw/metadata.json` cannot be read"
        "It may remove edges, so the revision is refused."
    EDGE_METADATA "GD031" Error "Metadata that adds or removes edges cannot be read"
        "Edges to add are not added. For edges to remove, all edges of that direction are removed."
    RELEASES_UNREADABLE "GD040" Error "A file of releases that cannot be read"
        "Serving the graph without its releases would strand clusters, so the revision is refused."
    RELEASE_UNREADABLE "GD041" Error "A release that cannot be read"
        "It is not served; the others are."
    RELEASE_NEIGHBOUR "GD042" Error "An entry of `previous` or `next` that is not a version"
        "The entry is ignored: it adds no edge."
    RELEASE_ORDER "GD043" Error "An update that does not lead to a newer version"
        "An entry of `previous` must be older than the release, one of `next` newer. The entry is ignored: it adds no edge."
    RELEASE_TWICE "GD044" Error "One release is listed twice"
        "With the same payload, the entries are merged. With two payloads, or two values of a metadata key that changes edges, it is unknown which one is right, and neither is served."
    RELEASE_METADATA "GD045" Warning "Metadata of a release that is not text"
        "The key is ignored. If it is a key that changes edges, the release is not served."
    DECLARED_TARGET "GD050" Error "A declared risk whose `to` cannot be read"
        "Which edges it applies to is unknown, so the revision is refused."
    DECLARED_SOURCE "GD051" Error "A declared risk whose `from` cannot be read"
        "It counts as `*`: the risk is on the edges from every source."
    WIRE_UNREADABLE "GD060" Error "A graph that cannot be read"
        "The text is not JSON, or has no list of nodes."
    WIRE_NODE "GD061" Error "A node that cannot be read"
        "It is ignored together with its edges; the indices of the other nodes do not change."
    WIRE_EDGE "GD062" Error "An edge that cannot be read"
        "It is ignored."
    WIRE_RISK "GD063" Error "A risk that cannot be read"
        "Its edges stay, with a rule that no cluster can evaluate: they are never recommended."
    WIRE_REPEATED "GD064" Warning "An edge that is in two groups"
        "It is served with the risks of both."
    WIRE_BOTH "GD065" Error "An edge that is both recommended and conditional"
        "It is treated as conditional."
    WIRE_ORDER "GD066" Error "An update of an answer that does not lead to a newer version"
        "It is ignored."
    WIRE_OVER_CAP "GD067" Error "An answer above a cap"
        "Reading further would take more memory or time than one source may use. The answer is refused, and the last good one stays in use. docs/limits.md lists every cap."
    WIRE_TOO_LARGE "GD068" Error "An element of an answer above a cap"
        "A node is ignored together with its edges; the edges of a risk stay, with a rule that no cluster can evaluate. docs/limits.md lists every cap."
    OVER_CAP "GD070" Error "Graph-data above a cap"
        "Reading further would take more memory or time than one source may use. The revision is refused, and the last good one stays in use. docs/limits.md lists every cap."
    TOO_LARGE "GD071" Error "An element above a cap"
        "Only the element is refused: a release is not served, the updates of a risk are removed. docs/limits.md lists every cap."
    SOURCE_NOTHING "GD100" Warning "A `from` that matches no known release"
        "The block has no effect. A version that is no longer listed, or a misspelt expression, is the usual cause."
    SOURCE_SUFFIX "GD101" Error "A `from` that does not allow for the architecture"
        "An expression is searched in `<version>+<arch>`, such as `4.18.1+amd64`. One that ends in `$` right after the version never matches, and the edges stay open."
    SOURCE_OPEN_END "GD102" Warning "A `from` whose match ends within a number"
        "An expression is searched, not matched as a whole: `4[.]14[.]3` also matches 4.14.30. Write `[+]` after the version to end it."
    SOURCE_DOT "GD103" Warning "A dot that matches any character"
        "A dot between two digits matches any character: `1.3` also matches 113. Write a dot as `[.]`. It is only a note if it matches no additional source of an update to the target."
    SOURCE_OPEN_START "GD104" Warning "A `from` whose match begins within a version"
        "An expression is searched, not matched as a whole: `4[.]18` also matches 4.14.18. Write `^` before the version. It is only a note if it matches no additional source of an update to the target."
    SOURCE_ALTERNATIVE "GD105" Info "An alternative of a `from` that matches no known release"
        "Without it, the expression matches the same known releases. A version that was never released, or a misspelt number, is the usual cause; ignore this for future releases."
    SOURCE_UNCHECKED "GD106" Warning "Expressions that were not checked"
        "Checking them would take more time than the cap `pattern_work` allows. The graph is not affected."
    QUERY_UNREADABLE "GD110" Error "A query that is not valid PromQL"
        "No cluster can evaluate the rule. Unless another rule of the risk can, the update is not recommended to any cluster."
    QUERY_REFUSED "GD111" Error "A query that the fence refuses"
        "The query is larger, or reads more, than the limits allow. It counts as a query that cannot be evaluated."
    QUERY_SHAPE "GD112" Error "A query that may not give a valid answer"
        "A query must return exactly one series with the value 0 or 1; anything else is a failed evaluation. The severity depends on how certain the finding is."
    QUERY_MISSING "GD113" Error "A `PromQL` rule without a query"
        "The rule has no string under `promql.promql`, so no cluster can evaluate it."
    QUERY_METRIC "GD114" Info "A metric that no other risk uses"
        "This is often correct. But a misspelt metric has no data, and then the query cannot be evaluated."
    EXPRESSION_INVALID "GD115" Error "An expression that does not compile"
        "The expression of a `Resource` rule is not valid CEL, has a type error, or uses a feature that rules do not support. No cluster can evaluate the rule."
    EXPRESSION_COST "GD116" Error "An expression above a limit"
        "The expression of a `Resource` rule always costs more than the limit, or is too large. No cluster evaluates the rule. docs/limits.md lists the limits."
    EXPRESSION_MISSING "GD117" Error "A `Resource` rule without an expression"
        "The rule has no string under `resource.expression`, so no cluster can evaluate it."
    PARAMETER_INVALID "GD118" Error "A `Bundle` rule with a parameter that cannot be read"
        "The range, channel, version or path of a `Bundle` rule is wrong, or its group is missing. No cluster can evaluate the rule."
    PARAMETER_UNKNOWN "GD119" Warning "A parameter that `Bundle` rules do not have"
        "Readers ignore parameters that they do not know, so the rule may match more clusters than intended."
    TARGET_NOT_LISTED "GD120" Warning "A block whose `to` is in no channel"
        "No cluster is offered the update, so the block has no effect. This is correct for a release that will be listed later."
    RISK_GAP "GD121" Warning "A risk that skips a release"
        "The releases before and after it have the risk, so this one probably has it too. Clusters are offered it without a warning."
    RISK_TWICE "GD122" Warning "A risk that is declared twice for one target"
        "The edges have the risk if either file matches. Changing only one of the files has unexpected results."
    FIXED_IN "GD123" Warning "A `fixedIn` that cannot be right"
        "The release that no longer has the problem is newer than the target, of the same minor version, and in a channel."
    FIXED_IN_MISSING "GD124" Info "A risk that ends without `fixedIn`"
        "Later releases do not have the risk, and it is unknown whether it is fixed there or was forgotten."
    FIXED_IN_DIFFERS "GD125" Warning "A risk with several `fixedIn` in one minor version"
        "A problem is fixed in one release of a minor version. The others are probably misspelt."
    BLOCK_SILENT "GD126" Info "A block that does not say why"
        "Without `name`, `url` and `message` the edges are removed for every cluster, without a reason. It is a note for existing blocks, and a warning for blocks that a change adds."
    BLOCK_HIDES_RISK "GD127" Warning "A block without a reason that hides a risk"
        "If one block removes an edge, the risks of other blocks on it have no effect: the risk is not shown, and no cluster is offered the update, not even one that the risk does not apply to. Remove the block, or the risk."
    POLICY_INVALID "GD128" Error "A `Policy` rule with a parameter that cannot be read"
        "The kind or name of the constraint is missing or cannot be one, or `objects` or `whenAbsent` has another word than it may have. No cluster can evaluate the rule."
    POLICY_UNKNOWN "GD129" Warning "A parameter that `Policy` rules do not have"
        "Readers ignore parameters that they do not know, so the rule may ask for something else than intended. Templates and parameters of constraints cannot be part of a rule: it names a constraint that the cluster has."
    FILE_NAME_TARGET "GD130" Warning "A file name that does not begin with the target"
        "The file blocks updates to its `to`, whatever its name is. People and scripts look for `<to>-<name>.yaml`; a file that was copied for another release and not changed is the usual cause."
    FILE_NAME_RISK "GD131" Info "A file name that does not contain the name of the risk"
        "It has no effect. People and scripts look for `<to>-<name>.yaml`."
    RISK_TEXT "GD132" Warning "A name or url of a risk that clients cannot show"
        "The name is used as the reason of conditions: letters, digits and `_`, starting with a capital letter. The url begins with `https://`."
    RISK_MESSAGE "GD133" Warning "A message of a risk that is too long to show"
        "The message is stored in the status of every cluster that is offered the update, once for each target. Typical messages have a few hundred characters."
    RULE_REPEATED "GD134" Warning "A rule type that occurs twice in one list"
        "Rules are tried in order until one can be evaluated. Two rules of one type usually both work or both fail, so the second one is never used."
    RULE_PARAMETERS "GD135" Warning "A rule `Always` with parameters"
        "`Always` applies to every cluster, whatever its parameters are. They have no effect."
    DECLARED_ONLY "GD136" Warning "A declared risk without its blocks"
        "Services that do not support `risks/` read only `blocked-edges/`, and offer the update without a warning. `clearway graph convert -o blocks --keep --output-dir DIR` writes the blocks beside the declarations."
    CHANNEL_REPEATED "GD140" Warning "A version that a channel lists twice"
        "It is served once. To remove it from the channel, both entries must be removed."
    CHANNEL_ORDER "GD141" Info "A channel that is not in the order of versions"
        "It has no effect. An ordered list has fewer merge conflicts. Pre-releases may be before or after their release."
    CHANNEL_SUBSET "GD142" Warning "A version that is not in the preceding channel"
        "Releases go from candidate to fast and from fast to stable. A version that is missing from the preceding channel was not tested there."
    CHANNEL_UNCHECKED "GD143" Warning "Channels that were not checked for stranded versions"
        "Checking them would take more time than the cap `answers_edges` allows. The graph is not affected."
    CHANNEL_STRANDED "GD150" Info "A version that can only be left through a risk"
        "Without conditional updates it cannot reach the newest patch of its minor version, a later minor version, or both. `clearway graph stranded` lists the paths."
}

/// The entry of a code.
pub fn code(code: &str) -> Option<&'static Code> {
    CODES.iter().find(|entry| entry.code == code)
}

/// The codes as a SARIF log lists them.
pub fn sarif_rules() -> Vec<sarif::Rule> {
    CODES
        .iter()
        .map(|entry| sarif::Rule { code: entry.code, title: entry.title, why: entry.text, text: entry.text })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(CODES.windows(2).all(|pair| pair[0].code < pair[1].code));
        assert_eq!(code("GD021"), Some(&BLOCK_SOURCE));
        assert_eq!(sarif_rules().len(), CODES.len());
    }
}
