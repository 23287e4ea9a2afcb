//! The table of the rules: one row each, with the levels it needs and the functions that find such changes.

use super::{
    Check, ExamplePair, Rule, bounds, bundles, cel, defaults, definitions, fields, keywords, lists, text, values,
    versions,
};
use crate::finding::RuleId;
use crate::model::Level;

/// A row with the examples of its rule.
macro_rules! rule {
    ($id:literal, $title:literal, $standard:ident, $experimental:ident, $why:literal, $stored:literal, $($check:expr),*) => {
        Rule {
            broken: Some(ExamplePair {
                old: include_str!(concat!("../../tests/rules/", $id, "/broken/old.yaml")),
                new: include_str!(concat!("../../tests/rules/", $id, "/broken/new.yaml")),
            }),
            allowed: Some(ExamplePair {
                old: include_str!(concat!("../../tests/rules/", $id, "/allowed/old.yaml")),
                new: include_str!(concat!("../../tests/rules/", $id, "/allowed/new.yaml")),
            }),
            checks: &[$($check),*],
            ..separate($id, $title, Level::$standard, Level::$experimental, $why, $stored)
        }
    };
}

/// A row of a check that is not about two bundles of one channel.
const fn separate(
    id: &'static str,
    title: &'static str,
    standard: Level,
    experimental: Level,
    why: &'static str,
    stored_objects: &'static str,
) -> Rule {
    let id = RuleId(id);
    Rule { id, title, standard, experimental, why, stored_objects, broken: None, allowed: None, checks: &[] }
}

/// All rules, in order of their names; the last three are those of `channels.rs`, `ledger.rs` and `conversion.rs`.
pub const RULES: &[Rule] = &[
    rule!(
        "R01",
        "Descriptions, printer columns, short names",
        Patch,
        Patch,
        "Human-readable texts may be corrected at any time. Removing a short name or category needs a minor version.",
        "Stored objects do not change.",
        Check::Version(text::descriptions_and_columns),
        Check::Crd(text::short_names)
    ),
    rule!(
        "R02",
        "Annotations and labels of a CRD",
        Patch,
        Patch,
        "Metadata of a CRD, such as the version of the bundle, may change at any time.",
        "Stored objects do not change.",
        Check::Crd(text::metadata)
    ),
    rule!(
        "R03",
        "Message of a validation rule",
        Patch,
        Patch,
        "A message, reason or field path may be corrected, and a rule rewritten, as long as it accepts the same values.",
        "Stored objects do not change.",
        Check::Field(text::rule_texts)
    ),
    rule!(
        "R04",
        "Optional field added",
        Minor,
        Minor,
        "A new field is experimental first and becomes standard later. Whether it was experimental is judged if the experimental bundles are given.",
        "Stored objects stay valid; a rollback prunes the field from objects that have it.",
        Check::Field(fields::optional_field_added)
    ),
    rule!(
        "R05",
        "Required field added",
        NewApiVersion,
        Minor,
        "Clients that do not know the field can no longer create objects.",
        "Stored objects do not have the field and are refused on their next write.",
        Check::Field(fields::required_field_added)
    ),
    rule!(
        "R06",
        "Field removed",
        NewApiVersion,
        Minor,
        "Clients that use the field lose what they write into it.",
        "Stored objects lose the field on their next write.",
        Check::Field(fields::field_removed)
    ),
    rule!(
        "R07",
        "Field renamed",
        NewApiVersion,
        Minor,
        "Nothing copies the value of the old name to the new one.",
        "Stored objects lose the value under the old name on their next write.",
        Check::Field(fields::field_renamed)
    ),
    rule!(
        "R08",
        "Optional field became required",
        NewApiVersion,
        Minor,
        "Objects without the field were valid before. A correction of validation needs a waiver.",
        "Stored objects without the field are refused when that part of them is written.",
        Check::Field(fields::became_required)
    ),
    rule!(
        "R09",
        "Required field became optional",
        Minor,
        Minor,
        "Validation may be loosened; implementations must handle a missing field.",
        "Stored objects stay valid.",
        Check::Field(fields::became_optional)
    ),
    rule!(
        "R10",
        "Type changed",
        NewApiVersion,
        Minor,
        "Clients fail to decode a value of another type.",
        "Stored objects with a value of the old type cannot be decoded by new clients.",
        Check::Field(fields::type_changed)
    ),
    rule!(
        "R11",
        "Enum value added",
        Minor,
        Minor,
        "Validation may be loosened; implementations must handle an unknown value.",
        "Stored objects stay valid; a rollback makes objects with the new value invalid.",
        Check::Field(values::enum_value_added)
    ),
    rule!(
        "R12",
        "Enum value removed, or enum introduced",
        NewApiVersion,
        Minor,
        "Values that were valid are refused.",
        "Stored objects with a removed value are refused when that field is written.",
        Check::Field(values::enum_value_removed)
    ),
    rule!(
        "R13",
        "Enum dropped, or replaced by a pattern",
        Minor,
        Minor,
        "Validation may be loosened if every old value stays valid.",
        "Stored objects stay valid if the pattern accepts every value of the enum.",
        Check::Field(values::enum_dropped)
    ),
    rule!(
        "R14",
        "Limit loosened",
        Minor,
        Minor,
        "Validation may be loosened.",
        "Stored objects stay valid; a rollback makes objects beyond the old limit invalid.",
        Check::Field(bounds::limit_loosened)
    ),
    rule!(
        "R15",
        "Limit tightened",
        Never,
        Minor,
        "Values that were valid are refused. A correction of validation needs a waiver.",
        "Stored objects beyond the new limit are refused when that field is written.",
        Check::Field(bounds::limit_tightened)
    ),
    rule!(
        "R16",
        "Pattern removed",
        Minor,
        Minor,
        "Validation may be loosened.",
        "Stored objects stay valid.",
        Check::Field(values::pattern_removed)
    ),
    rule!(
        "R17",
        "Pattern added",
        Never,
        Minor,
        "Values that were valid are refused. A correction of validation needs a waiver.",
        "Stored objects with a value that does not match are refused when that field is written.",
        Check::Field(values::pattern_added)
    ),
    rule!(
        "R18",
        "Pattern changed",
        Minor,
        Minor,
        "A pattern that accepts all old values is loosened. One that refuses some of them is tightened. A pattern that cannot be compared needs review.",
        "Stored objects with a value that no longer matches are refused when that field is written.",
        Check::Field(values::pattern_changed)
    ),
    rule!(
        "R19",
        "Validation rule removed",
        Minor,
        Minor,
        "Validation may be loosened.",
        "Stored objects stay valid.",
        Check::Field(cel::rule_removed)
    ),
    rule!(
        "R20",
        "Validation rule added",
        Minor,
        Minor,
        "A rule about fields of the same bundle refuses nothing that was valid. Any other rule needs review, and a waiver in a patch version.",
        "Stored objects that violate the rule are refused when that part of them is written.",
        Check::Field(cel::rule_added)
    ),
    rule!(
        "R21",
        "Validation rule changed",
        Minor,
        Minor,
        "A rule that lost conditions or gained alternatives is loosened. For any other change, whether the rule accepts all that it accepted before cannot be decided.",
        "Stored objects that violate the changed rule are refused when that part of them is written.",
        Check::Field(cel::rule_changed)
    ),
    rule!(
        "R22",
        "Default added",
        Minor,
        Minor,
        "A default changes what a missing field means.",
        "Stored objects without the field have the default from now on.",
        Check::Field(defaults::default_added)
    ),
    rule!(
        "R23",
        "Default changed or removed",
        Never,
        Minor,
        "A missing field has a different meaning than before. In `status` a minor version may do it.",
        "Stored objects keep the old default; only new objects get the new one.",
        Check::Field(defaults::default_changed)
    ),
    rule!(
        "R24",
        "Null accepted or refused",
        Never,
        Minor,
        "Refusing null is tightening; accepting it is loosening, which a minor version may do.",
        "Stored objects with null are refused or lose it on their next write.",
        Check::Field(defaults::nullable_changed)
    ),
    rule!(
        "R25",
        "Default list or map type made explicit",
        None,
        None,
        "A list without a type is atomic, and a map without one is granular, so nothing changes.",
        "Stored objects do not change.",
        Check::Field(lists::default_written)
    ),
    rule!(
        "R26",
        "List elements must be unique",
        NewApiVersion,
        Minor,
        "Lists with equal elements were valid, and are refused. Server-side apply merges the list differently.",
        "Stored objects with equal elements are refused when that list is written.",
        Check::Field(lists::uniqueness_added)
    ),
    rule!(
        "R27",
        "List or map merged differently",
        Minor,
        Minor,
        "Server-side apply replaces the whole list instead of merging it, so one owner overwrites another.",
        "Stored objects stay valid; the ownership of fields changes.",
        Check::Field(lists::merging_changed)
    ),
    rule!(
        "R28",
        "Format, combination or other constraint changed",
        Never,
        Minor,
        "`format`, `oneOf`, `anyOf`, `allOf`, `not`, `multipleOf` and `uniqueItems` refuse values. Dropping one is loosening.",
        "Stored objects that violate the constraint are refused when that field is written.",
        Check::Field(keywords::constraint_changed)
    ),
    rule!(
        "R29",
        "Unknown fields pruned or kept",
        Never,
        Minor,
        "Clients lose fields that are not described. Keeping them is loosening, which a minor version may do.",
        "Stored objects lose their unknown fields on their next write.",
        Check::Field(keywords::unknown_fields_changed)
    ),
    rule!(
        "R30",
        "Map values narrowed",
        Never,
        Minor,
        "Values and keys of a map that were valid are refused or pruned. Accepting more is loosening.",
        "Stored objects with other values are refused or pruned on their next write.",
        Check::Field(keywords::map_values_changed)
    ),
    rule!(
        "R31",
        "Scope, group, kind or plural changed",
        Major,
        Major,
        "This makes it a different resource; the API server refuses to change it in place.",
        "Stored objects stay under the old name and have to be created again.",
        Check::Bundle(definitions::identity_changed)
    ),
    rule!(
        "R32",
        "CRD added",
        Minor,
        Minor,
        "A new CRD is experimental first and becomes standard later, with a version that is not alpha.",
        "There are no stored objects yet.",
        Check::Bundle(definitions::crd_added)
    ),
    rule!(
        "R33",
        "CRD removed",
        Major,
        Minor,
        "Clients lose the resource.",
        "Deleting the CRD deletes all of its objects; leaving it out leaves it in the cluster.",
        Check::Bundle(definitions::crd_removed)
    ),
    rule!(
        "R34",
        "API version added",
        Minor,
        Minor,
        "Objects should not be stored in it before the next bundle, so that a rollback can read them.",
        "Stored objects do not change.",
        Check::Crd(versions::version_added)
    ),
    rule!(
        "R35",
        "Storage version changed",
        Minor,
        Minor,
        "The previous bundle must have served the version, so that a rollback can read objects.",
        "Stored objects stay in the old version until they are written again.",
        Check::Crd(versions::storage_moved)
    ),
    rule!(
        "R36",
        "API version no longer served",
        Minor,
        Minor,
        "Clients of the version get `not found`, so it must have been deprecated, and not the storage version, in the previous bundle.",
        "Stored objects are read in the other versions.",
        Check::Crd(versions::no_longer_served)
    ),
    rule!(
        "R37",
        "API version removed",
        Minor,
        Minor,
        "The previous bundle must not have served it, and no object may be stored in it.",
        "The API server refuses the update while status.storedVersions lists the version.",
        Check::Crd(versions::version_removed)
    ),
    rule!(
        "R38",
        "Deprecation changed",
        Minor,
        Minor,
        "Clients get a warning with every answer.",
        "Stored objects do not change.",
        Check::Version(versions::deprecation_changed)
    ),
    rule!(
        "R39",
        "Conversion strategy changed",
        Major,
        Minor,
        "With a webhook, every read depends on a running service.",
        "Stored objects cannot be read in other versions while the webhook is not available.",
        Check::Crd(definitions::conversion_changed)
    ),
    rule!(
        "R40",
        "Versions of a CRD disagree",
        Never,
        None,
        "Without a webhook nothing but `apiVersion` is converted, so every version must have the same fields and types.",
        "Objects lose the fields that one of the versions does not have when they are written in it.",
        Check::Bundle(versions::versions_disagree)
    ),
    rule!(
        "R41",
        "Subresource or selectable field removed",
        Never,
        Never,
        "Controllers fail to write `status`, and autoscalers to scale.",
        "Stored objects do not change; requests for the subresource fail.",
        Check::Version(definitions::subresource_changed)
    ),
    rule!(
        "R42",
        "Switch to the standard channel",
        None,
        None,
        "It is allowed; fields, versions and CRDs that only the experimental channel has are lost.",
        "Stored objects lose their experimental fields on their next write.",
        Check::Bundle(bundles::to_standard)
    ),
    rule!(
        "R43",
        "Switch to the experimental channel",
        Never,
        Never,
        "Experimental CRDs may change incompatibly with every minor version.",
        "Stored objects stay valid; new experimental fields may be lost later.",
        Check::Bundle(bundles::to_experimental)
    ),
    rule!(
        "R44",
        "Rollback",
        Never,
        Never,
        "An older bundle does not have the fields of the newer one.",
        "Objects with new fields lose them on their next write, and their generation stays the same.",
        Check::Bundle(bundles::rollback)
    ),
    rule!(
        "R45",
        "Mixed versions or channels",
        Never,
        Never,
        "CRDs, policies and webhooks of a bundle are tested together; a mix is not tested.",
        "Objects are validated by parts of different versions.",
        Check::Bundle(bundles::mixed)
    ),
    rule!(
        "R46",
        "Minor version skipped",
        None,
        None,
        "Deprecations and storage migrations are spread over minor versions.",
        "Objects may still be stored in a version that the new bundle does not have.",
        Check::Bundle(bundles::skipped_minor)
    ),
    separate(
        "V2",
        "Standard channel is a subset of the experimental one",
        Level::Never,
        Level::Never,
        "Every CRD, version and field of the standard channel is in the experimental channel of the same version, too.",
        "Objects lose fields when a cluster switches to the experimental channel.",
    ),
    separate(
        "V4",
        "Removed name used again",
        Level::Never,
        Level::Never,
        "A name that was removed could still be in stored objects and manifests with its old meaning.",
        "Old objects and manifests have the old meaning of the name.",
    ),
    separate(
        "V5",
        "Conversion loses data",
        Level::Never,
        Level::Never,
        "Without a webhook an object must survive being written in any version.",
        "Objects lose the field when they are written in the other version.",
    ),
];
