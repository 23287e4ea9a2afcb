//! Where everything stands in the picture.
//!
//! Every minor is a column, every version a row of its column. Updates of one column that lead to the same target with
//! the same risks form a *trunk*: a vertical line in the gutter right of the column, which meets the row of each source
//! in a dot and ends in an arrow at the target. Trunks whose rows do not overlap share a lane. So the picture grows with
//! targets and not with updates, and nothing has to be untangled.

use std::collections::BTreeMap;

use super::view::{DrawnUpdate, Kind, View, drawn_names};

pub(super) const ROW: i64 = 18;
pub(super) const BOX: i64 = 15;
const MARGIN: i64 = 24;
/// Where the first row starts: below the title, the key and the names of the minors.
const TOP: i64 = 132;
const LINE: i64 = 11;
/// From so many lanes on they move together.
const MANY: usize = 40;

/// The picture.
pub(super) struct Layout {
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) columns: Vec<Column>,
    /// By place.
    pub(super) spots: BTreeMap<u32, Spot>,
    pub(super) trunks: Vec<Trunk>,
    pub(super) labels: Vec<Label>,
    /// The sets of risks that are drawn, by their numbers from 1 on, and how many updates carry each.
    pub(super) sets: Vec<(Vec<String>, usize)>,
    /// They as lines of a list; the first line of each has its number.
    pub(super) list: Vec<(Option<usize>, String)>,
    /// Where the list starts.
    pub(super) legend: i64,
}

/// A minor.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) x: i64,
    pub(super) width: i64,
    pub(super) count: usize,
    pub(super) bottom: i64,
}

/// A version: the left upper corner of its box, and how far its row goes.
pub(super) struct Spot {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) row_end: Option<i64>,
}

/// Updates from one column to one target.
pub(super) struct Trunk {
    pub(super) kind: Kind,
    /// The number of its risks in [`Layout::sets`], from 1 on.
    pub(super) set: Option<usize>,
    pub(super) target: u32,
    pub(super) sources: Vec<u32>,
    pub(super) x: i64,
    pub(super) dots: Vec<i64>,
    /// Where the arrow ends.
    pub(super) end: (i64, i64),
    pub(super) narrow: bool,
}

/// The risks of a trunk, written beside it.
pub(super) struct Label {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) lines: Vec<String>,
}

/// A number as a coordinate.
pub(super) fn px(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// How wide a text of so many letters is in the fixed-width font of versions.
fn mono(letters: usize) -> i64 {
    px(letters) * 67 / 10
}

/// A trunk before it has a place.
struct Draft<'v, 'g> {
    column: usize,
    target_column: usize,
    first: &'v DrawnUpdate<'g>,
    sources: Vec<u32>,
    set: Option<usize>,
    lane: usize,
}

/// Lays the picture out.
pub(super) fn lay_out(view: &View<'_>) -> Layout {
    let minors = view.minors();
    let mut rows: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (column, (_, nodes)) in minors.iter().enumerate() {
        rows.extend(nodes.iter().enumerate().map(|(row, place)| (*place, (column, row))));
    }
    let mut sets = Sets::default();
    let mut drafts = drafts(view, &rows, &mut sets);
    let mut layout = Layout {
        width: 0,
        height: 0,
        columns: Vec::new(),
        spots: BTreeMap::new(),
        trunks: Vec::new(),
        labels: Vec::new(),
        list: list(&sets.list),
        sets: sets.list,
        legend: 0,
    };
    // Columns from left to right: boxes, lanes, labels.
    let lowest = minors.iter().map(|(_, nodes)| TOP + px(nodes.len()) * ROW).max().unwrap_or(TOP);
    let mut x = MARGIN;
    let mut lanes_at: Vec<(i64, i64)> = Vec::new();
    for (at, (name, nodes)) in minors.iter().enumerate() {
        let letters = nodes.iter().map(|place| view.version(*place).to_string().len()).max().unwrap_or(0);
        let width = mono(letters) + 14;
        let bottom = TOP + px(nodes.len()) * ROW;
        layout.columns.push(Column { name: name.clone(), x, width, count: nodes.len(), bottom });
        for (row, place) in nodes.iter().enumerate() {
            layout.spots.insert(*place, Spot { x, y: TOP + px(row) * ROW, width, row_end: None });
        }
        let mine: Vec<usize> = drafts.iter().enumerate().filter(|(_, one)| one.column == at).map(|(i, _)| i).collect();
        let lanes = assign_lanes(&mut drafts, &mine, &rows);
        let spacing = if lanes > MANY { 6 } else { 11 };
        let first = x + width + 16;
        lanes_at.push((first, spacing));
        let end = first + px(lanes) * spacing + 8;
        let here: Vec<&Draft<'_, '_>> = mine.iter().filter_map(|i| drafts.get(*i)).collect();
        let labels = labels(&here, &layout.sets, &rows, end, lowest);
        let letters = labels.iter().flat_map(|label| &label.lines).map(|line| line.chars().count()).max().unwrap_or(0);
        layout.labels.extend(labels);
        x = end + px(letters) * 54 / 10 + 28;
    }
    let mut arrivals: BTreeMap<(u32, bool), i64> = BTreeMap::new();
    let port = |draft: &Draft<'_, '_>| (draft.first.to, draft.column == draft.target_column);
    for draft in &drafts {
        *arrivals.entry(port(draft)).or_default() += 1;
    }
    let mut arrived: BTreeMap<(u32, bool), i64> = BTreeMap::new();
    for draft in &drafts {
        let Some((first, spacing)) = lanes_at.get(draft.column).copied() else { continue };
        let x = first + px(draft.lane) * spacing;
        for source in &draft.sources {
            if let Some(spot) = layout.spots.get_mut(source) {
                spot.row_end = spot.row_end.max(Some(x));
            }
        }
        let Some(target) = layout.spots.get(&draft.first.to) else { continue };
        let nth = arrived.entry(port(draft)).or_default();
        *nth += 1;
        let of = arrivals.get(&port(draft)).copied().unwrap_or(1) + 1;
        // From the right into the upper half, because the row of the target leaves from the lower one.
        let end = if draft.column == draft.target_column {
            (target.x + target.width + 1, target.y + 1 + *nth * 7 / of)
        } else {
            (target.x - 1, target.y + 1 + *nth * (BOX - 2) / of)
        };
        let dots = draft.sources.iter().filter_map(|place| layout.spots.get(place)).map(|spot| spot.y + 11).collect();
        layout.trunks.push(Trunk {
            kind: draft.first.kind,
            set: draft.set,
            target: draft.first.to,
            sources: draft.sources.clone(),
            x,
            dots,
            end,
            narrow: spacing < 10,
        });
    }
    let lowest = layout.labels.iter().map(|label| label.y + px(label.lines.len()) * LINE).fold(lowest, i64::max);
    layout.legend = lowest + 40;
    let listed = px(layout.list.len()) * 14;
    layout.height = layout.legend + if listed > 0 { 24 + listed } else { 0 } + MARGIN;
    let letters = layout.list.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
    layout.width = (x + MARGIN).max(860).max(80 + px(letters) * 64 / 10);
    layout
}

/// The trunks: by column, kind, target and risks.
fn drafts<'v, 'g>(view: &'v View<'g>, rows: &BTreeMap<u32, (usize, usize)>, sets: &mut Sets) -> Vec<Draft<'v, 'g>> {
    let mut trunks: BTreeMap<(usize, Kind, u32, u32), Draft<'v, 'g>> = BTreeMap::new();
    for update in &view.updates {
        let (Some((column, _)), Some((target_column, _))) = (rows.get(&update.from), rows.get(&update.to)) else {
            continue;
        };
        let draft = trunks.entry((*column, update.kind, update.to, update.set)).or_insert_with(|| Draft {
            column: *column,
            target_column: *target_column,
            first: update,
            sources: Vec::new(),
            set: None,
            lane: 0,
        });
        draft.sources.push(update.from);
    }
    let mut drafts: Vec<_> = trunks.into_values().collect();
    let trunks = drafts.len();
    for draft in drafts.iter_mut().filter(|draft| draft.first.kind == Kind::Conditional) {
        draft.set = Some(sets.number(draft.first, draft.sources.len(), trunks));
    }
    drafts
}

/// Sets of risks by number.
#[derive(Default)]
struct Sets {
    numbers: BTreeMap<u32, usize>,
    list: Vec<(Vec<String>, usize)>,
}

impl Sets {
    /// The number of the set of an update that stands for so many, where each of so many trunks has the names of its own.
    fn number(&mut self, update: &DrawnUpdate<'_>, updates: usize, trunks: usize) -> usize {
        let number = *self.numbers.entry(update.set).or_insert(self.list.len() + 1);
        match self.list.get_mut(number - 1) {
            Some((_, count)) => *count += updates,
            None => self.list.push((drawn_names(update.risks, trunks), updates)),
        }
        number
    }
}

/// How long a line of the list may get.
const LETTERS: usize = 120;

/// Sets of risks as lines.
fn list(sets: &[(Vec<String>, usize)]) -> Vec<(Option<usize>, String)> {
    let mut lines = Vec::new();
    for (number, (names, updates)) in (1..).zip(sets) {
        let mut mark = Some(number);
        let mut line = String::new();
        for (at, name) in names.iter().enumerate() {
            if !line.is_empty() && line.len() + name.len() > LETTERS {
                lines.push((mark.take(), std::mem::take(&mut line)));
            }
            line.push_str(name);
            line.push_str(if at + 1 < names.len() { ", " } else { "" });
        }
        lines.push((mark, format!("{line} ({updates})")));
    }
    lines
}

/// The rows a trunk takes in its gutter.
fn extent(draft: &Draft<'_, '_>, rows: &BTreeMap<u32, (usize, usize)>) -> (usize, usize) {
    let row = |place: &u32| rows.get(place).map_or(0, |(_, row)| *row);
    let of = || draft.sources.iter().chain([&draft.first.to]).map(row);
    (of().min().unwrap_or(0), of().max().unwrap_or(0))
}

/// Gives each trunk of a column a lane; says how many there are. First what stays in the minor, then what leaves it,
/// short ones closest to the boxes; a trunk takes the first lane that is free along its rows.
fn assign_lanes(drafts: &mut [Draft<'_, '_>], mine: &[usize], rows: &BTreeMap<u32, (usize, usize)>) -> usize {
    let mut order: Vec<_> = mine.iter().filter_map(|at| Some((*at, drafts.get(*at)?))).collect::<Vec<_>>();
    order.sort_by_key(|(at, draft)| {
        let (top, bottom) = extent(draft, rows);
        (draft.target_column != draft.column, bottom - top, *at)
    });
    let order: Vec<usize> = order.into_iter().map(|(at, _)| at).collect();
    let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut floor = 0;
    for at in order {
        let Some(draft) = drafts.get_mut(at) else { continue };
        let (top, bottom) = extent(draft, rows);
        if draft.target_column != draft.column && floor == 0 {
            floor = lanes.len();
        }
        let free = |lane: &Vec<(usize, usize)>| lane.iter().all(|(from, to)| bottom + 1 < *from || top > *to + 1);
        let lane = lanes.iter().skip(floor).position(free).map_or(lanes.len(), |lane| lane + floor);
        if lane == lanes.len() {
            lanes.push(Vec::new());
        }
        if let Some(taken) = lanes.get_mut(lane) {
            taken.push((top, bottom));
        }
        draft.lane = lane;
    }
    lanes.len()
}

/// The names of risks beside the trunks of a column, if there is room for all of them; the list below has them anyway.
fn labels(
    drafts: &[&Draft<'_, '_>],
    sets: &[(Vec<String>, usize)],
    rows: &BTreeMap<u32, (usize, usize)>,
    x: i64,
    bottom: i64,
) -> Vec<Label> {
    // A set that several trunks carry is written once, at the highest of them.
    let mut wanted: BTreeMap<usize, usize> = BTreeMap::new();
    for draft in drafts {
        if let Some(set) = draft.set {
            // On its arrow if that passes by, else at its upper end.
            let leaves = draft.target_column != draft.column;
            let row = |place: &u32| rows.get(place).map_or(0, |(_, row)| *row);
            let row = if leaves { row(&draft.first.to) } else { draft.sources.iter().map(row).min().unwrap_or(0) };
            let top = wanted.entry(set).or_insert(row);
            *top = row.min(*top);
        }
    }
    let mut wanted: Vec<(usize, usize)> = wanted.into_iter().map(|(set, row)| (row, set)).collect();
    wanted.sort_unstable();
    let lines = |set: usize| -> Vec<String> {
        let names = set.checked_sub(1).and_then(|at| sets.get(at)).map_or(&[][..], |(names, _)| names);
        let mark = |at: usize| if at == 0 { format!("{set}  ") } else { "    ".to_owned() };
        names.iter().enumerate().map(|(at, name)| format!("{}{name}", mark(at))).collect()
    };
    let mut y = TOP;
    let mut labels = Vec::new();
    for (row, set) in wanted {
        let lines = lines(set);
        y = y.max(TOP + px(row) * ROW + 1);
        let height = px(lines.len()) * LINE + 6;
        labels.push(Label { x, y, lines });
        y += height;
    }
    if y > bottom + 200 { Vec::new() } else { labels }
}
