//! R22 to R24: defaults, and whether null is a value.

use serde_json::json;

use crate::finding::RuleId;
use crate::judge::{Change, Collector, FieldPair};
use crate::model::{Level, Segment};

const R22: RuleId = RuleId("R22");
const R23: RuleId = RuleId("R23");
const R24: RuleId = RuleId("R24");

/// R22: a field that had no default has one.
pub(super) fn default_added(pair: &FieldPair<'_>, out: &mut Collector) {
    let (None, Some(new)) = (&pair.old.keywords.default, &pair.new.keywords.default) else { return };
    let change = Change::new(R22, "default added").values(None, Some(new.clone())).warns();
    out.report(pair.site, pair.path, change.at(pair.new.position));
}

/// R23: a default changed or was removed. Controllers write all of `status`, so that there a minor version may do it.
pub(super) fn default_changed(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (&pair.old.keywords.default, &pair.new.keywords.default);
    if old.is_none() || old == new {
        return;
    }
    let message = if new.is_some() { "default changed" } else { "default removed" };
    let change = Change::new(R23, message).values(old.clone(), new.clone()).at(pair.new.position);
    let change = if pair.path.first() == Some(&Segment::Field("status")) {
        change.needs(Level::Minor, Level::Minor)
    } else {
        change
    };
    out.report(pair.site, pair.path, change);
}

/// R24: null is accepted no longer, or from now on.
pub(super) fn nullable_changed(pair: &FieldPair<'_>, out: &mut Collector) {
    let (old, new) = (pair.old.keywords.nullable, pair.new.keywords.nullable);
    if old == new {
        return;
    }
    let change = if new {
        Change::new(R24, "null is accepted from now on").needs(Level::Minor, Level::Minor)
    } else {
        Change::new(R24, "null is no longer accepted")
    };
    out.report(pair.site, pair.path, change.values(Some(json!(old)), Some(json!(new))).at(pair.new.position));
}
