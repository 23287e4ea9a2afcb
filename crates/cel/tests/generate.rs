//! Expressions and objects by the hundred, the same for the same seed.
//!
//! Most expressions type-check; some are broken on purpose, so that refusals are compared too.

use serde_json::{Value, json};

/// A generator of pseudo-random numbers (splitmix64): the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, options: &[&'a T]) -> &'a T {
        options[self.below(options.len())]
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// The schema of the objects. Lists and texts are limited, so that estimates stay below the limit of the type.
pub(crate) fn schema() -> Value {
    let text = json!({"type": "string", "maxLength": 30});
    json!({
        "type": "object",
        "properties": {
            "i": {"type": "integer"},
            "j": {"type": "integer", "format": "int64"},
            "n": {"type": "number"},
            "b": {"type": "boolean"},
            "s": text,
            "u": {"type": "string"},
            "e": {"type": "string", "enum": ["one", "two", "threeee"]},
            "t": {"type": "string", "format": "date-time"},
            "day": {"type": "string", "format": "date"},
            "d": {"type": "string", "format": "duration"},
            "raw": {"type": "string", "format": "byte"},
            "nul": {"type": "string", "nullable": true},
            "li": {"type": "array", "maxItems": 6, "items": {"type": "integer"}},
            "ln": {"type": "array", "items": {"type": "number"}},
            "ls": {"type": "array", "maxItems": 8, "items": text},
            "set": {"type": "array", "maxItems": 8, "x-kubernetes-list-type": "set", "items": text},
            "ml": {
                "type": "array",
                "maxItems": 5,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {
                    "type": "object",
                    "required": ["k"],
                    "properties": {"k": text, "v": {"type": "integer"}},
                },
            },
            "m": {"type": "object", "maxProperties": 7, "additionalProperties": text},
            "mi": {"type": "object", "additionalProperties": {"type": "integer"}},
            "one": {"type": "object", "additionalProperties": text},
            "o": {
                "type": "object",
                "properties": {
                    "a": text,
                    "n": {"type": "integer"},
                    "deep": {"type": "object", "properties": {"x": {"type": "integer"}, "l": {"type": "array", "items": text}}},
                },
            },
            "ios": {"x-kubernetes-int-or-string": true},
            "a-b": text,
            "namespace": text,
            "x__y": {"type": "integer"},
            "loose": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"p": text}},
        },
    })
}

const WORDS: &[&str] = &[
    "",
    "a",
    "abc",
    "Hello World",
    "x-1",
    "10",
    "ünïcödé",
    "a,b,c",
    "true",
    "1.5",
    "1h",
    "2020-01-01T00:00:00Z",
    "10.0.0.1",
    "10.0.0.0/8",
    "1.2.3",
    "100Mi",
    "https://example.com:80/p?q=1",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "日本",
    "one",
    "k1",
];

/// An object that fits the schema, sometimes with fields missing.
pub(crate) fn object(random: &mut Random) -> Value {
    let word = |random: &mut Random| json!(random.pick(WORDS));
    let small = |random: &mut Random| i64::try_from(random.below(12)).unwrap() - 4;
    let mut object = json!({"apiVersion": "v1", "kind": "Test", "metadata": {"name": random.pick(&["a", "b-c"])}});
    let mut set = |random: &mut Random, name: &str, value: Value| {
        if random.chance(85) {
            object[name] = value;
        }
    };
    let number = small(random);
    set(random, "i", json!(number));
    let number = [i64::MAX, i64::MIN, 7, 0][random.below(4)];
    set(random, "j", json!(number));
    let number = [json!(1.5), json!(2), json!(-0.25), json!(1e30), json!(0)][random.below(5)].clone();
    set(random, "n", number);
    let flag = random.chance(50);
    set(random, "b", json!(flag));
    for name in ["s", "u", "a-b", "namespace"] {
        let text = word(random);
        set(random, name, text);
    }
    let text = random.pick(&["one", "two", "threeee"]);
    set(random, "e", json!(text));
    let text = random.pick(&["2020-02-29T12:30:15Z", "1999-12-31T23:59:59.123456+02:00", "0001-01-01T00:00:00Z"]);
    set(random, "t", json!(text));
    set(random, "day", json!("2021-05-06"));
    let text = random.pick(&["1h", "90s", "-3m", "36h15m"]);
    set(random, "d", json!(text));
    let text = random.pick(&["aGVsbG8=", "", "AAEC"]);
    set(random, "raw", json!(text));
    if random.chance(50) {
        let text = word(random);
        set(random, "nul", text);
    }
    let list: Vec<i64> = (0..random.below(5)).map(|_| small(random)).collect();
    set(random, "li", json!(list));
    let list: Vec<Value> = (0..random.below(4)).map(|_| json!(small(random))).collect();
    set(random, "ln", json!(list));
    let list: Vec<Value> = (0..random.below(5)).map(|_| word(random)).collect();
    set(random, "ls", json!(list));
    let mut list: Vec<&str> = WORDS.iter().copied().filter(|_| random.chance(20)).take(6).collect();
    if random.chance(50) {
        list.reverse();
    }
    set(random, "set", json!(list));
    let list: Vec<Value> =
        (0..random.below(4)).map(|index| json!({"k": format!("k{index}"), "v": small(random)})).collect();
    set(random, "ml", json!(list));
    let mut map = serde_json::Map::new();
    for key in ["a", "b", "k1", "x.y/z"] {
        if random.chance(60) {
            map.insert(key.to_owned(), word(random));
        }
    }
    set(random, "m", json!(map));
    let mut map = serde_json::Map::new();
    for key in ["a", "b", "c"] {
        if random.chance(60) {
            map.insert(key.to_owned(), json!(small(random)));
        }
    }
    set(random, "mi", json!(map));
    // Go visits entries in a random order, so that loops go over one at most.
    let map = if random.chance(80) { json!({"k1": word(random)}) } else { json!({}) };
    set(random, "one", map);
    let inner = json!({"a": word(random), "n": small(random), "deep": {"x": small(random), "l": [word(random)]}});
    set(random, "o", inner);
    let either = if random.chance(50) { json!(small(random)) } else { word(random) };
    set(random, "ios", either);
    set(random, "x__y", json!(3));
    let inner = json!({"p": word(random), "extra": [1, {"q": null}]});
    set(random, "loose", inner);
    object
}

/// Which variables expressions start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Environment {
    /// `self`, with types.
    Rule,
    /// `object` and `request`, without.
    Admission,
}

/// Writes expressions.
pub(crate) struct Expressions<'r> {
    pub(crate) random: &'r mut Random,
    pub(crate) environment: Environment,
    locals: Vec<(String, Kind)>,
}

/// The type that an expression should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Double,
    Text,
    Bytes,
    Time,
    Duration,
    Ints,
    Texts,
    Map,
}

const KINDS: [Kind; 10] = [
    Kind::Bool,
    Kind::Int,
    Kind::Double,
    Kind::Text,
    Kind::Bytes,
    Kind::Time,
    Kind::Duration,
    Kind::Ints,
    Kind::Texts,
    Kind::Map,
];

impl<'r> Expressions<'r> {
    pub(crate) fn new(random: &'r mut Random, environment: Environment) -> Self {
        Expressions { random, environment, locals: Vec::new() }
    }

    /// An expression with a result of any type, or of a bool.
    pub(crate) fn expression(&mut self, only_bool: bool) -> String {
        let kind = if only_bool { Kind::Bool } else { KINDS[self.random.below(KINDS.len())] };
        let depth = 1 + self.random.below(4);
        let text = self.of(kind, depth);
        if self.random.chance(6) { self.broken(&text) } else { text }
    }

    /// Something that is likely not to type-check, or not to parse.
    fn broken(&mut self, text: &str) -> String {
        let other = KINDS[self.random.below(KINDS.len())];
        let other = self.of(other, 1);
        match self.random.below(12) {
            0 => format!("({text}) + ({other})"),
            1 => format!("({text}) == ({other})"),
            2 => format!("({text}).nothing"),
            3 => format!("[{text}, {other}]"),
            4 => format!("undeclared || {text}"),
            5 => format!("({text}"),
            6 => format!("nofunction({text})"),
            7 => format!("int('x') == 1 || {text}"),
            8 => format!("({text}) ? 1 : 'a'"),
            9 => "duration('1x') == duration('1s')".to_owned(),
            10 => format!("'a'.matches('(') || ({text})"),
            _ => format!("math.abs(1) == 1 || {text}"),
        }
    }

    fn field(&self, kind: Kind) -> &'static [&'static str] {
        let rule = self.environment == Environment::Rule;
        match kind {
            Kind::Bool if rule => &["self.b", "has(self.i)", "has(self.o.deep)", "self.b"],
            Kind::Bool => &["object.b", "has(object.i)", "has(object.o.deep)", "request.dryRun"],
            Kind::Int if rule => {
                &["self.i", "self.j", "self.o.n", "self.o.deep.x", "self.x__underscores__y", "self.mi['a']"]
            }
            Kind::Int => {
                &["int(object.i)", "object.i", "object.o.n", "object.o.deep.x", "object.mi['a']", "object.x__y"]
            }
            Kind::Double if rule => &["self.n", "self.ln[0]", "double(self.i)"],
            Kind::Double => &["double(object.n)", "double(object.i)"],
            Kind::Text if rule => &[
                "self.s",
                "self.u",
                "self.e",
                "self.a__dash__b",
                "self.__namespace__",
                "self.namespace",
                "self.o.a",
                "self.m['a']",
                "self.ls[0]",
                "self.metadata.name",
                "string(self.ios)",
                "self.nul",
                "self.loose.p",
            ],
            Kind::Text => &[
                "object.s",
                "object.u",
                "object['a-b']",
                "object.namespace",
                "object.m.a",
                "object.ls[0]",
                "request.operation",
                "request.userInfo.username",
            ],
            Kind::Bytes if rule => &["self.raw", "bytes(self.s)"],
            Kind::Bytes => &["bytes(object.s)", "b'x'"],
            Kind::Time if rule => &["self.t", "self.day"],
            Kind::Time => &["timestamp(object.t)"],
            Kind::Duration if rule => &["self.d"],
            Kind::Duration => &["duration(object.d)"],
            Kind::Ints if rule => &["self.li", "self.ml.map(e, e.v)"],
            Kind::Ints => &["object.li", "object.ml.map(e, e.v)"],
            Kind::Texts if rule => &["self.ls", "self.set", "self.ml.map(e, e.k)", "self.o.deep.l"],
            Kind::Texts => &["object.ls", "object.set", "object.o.deep.l"],
            Kind::Map if rule => &["self.m"],
            Kind::Map => &["object.m"],
        }
    }

    /// A map with one entry at most.
    fn one(&mut self) -> &'static str {
        let data = if self.environment == Environment::Rule { "self.one" } else { "object.one" };
        self.random.pick(&[data, data, "{'k': 'v'}"])
    }

    fn literal(&mut self, kind: Kind) -> String {
        let random = &mut *self.random;
        match kind {
            Kind::Bool => random.pick(&["true", "false"]).to_owned(),
            Kind::Int => random.pick(&["0", "1", "-3", "7", "9223372036854775807", "0x1f"]).to_owned(),
            Kind::Double => random.pick(&["0.0", "1.5", "-2.25", "1e10"]).to_owned(),
            Kind::Text => format!("'{}'", random.pick(WORDS)),
            Kind::Bytes => random.pick(&["b''", "b'abc'", "b'\\xff'"]).to_owned(),
            Kind::Time => random
                .pick(&["timestamp('2020-01-01T00:00:00Z')", "timestamp('2024-06-30T23:59:59.5-07:00')"])
                .to_owned(),
            Kind::Duration => random.pick(&["duration('1h')", "duration('-90s')", "duration('0')"]).to_owned(),
            Kind::Ints => random.pick(&["[1, 2, 3]", "[0]", "[3, 1, 2, 1]"]).to_owned(),
            Kind::Texts => random.pick(&["['a', 'b']", "['one']", "['b', 'a', 'b']"]).to_owned(),
            Kind::Map => random.pick(&["{'a': 'b'}", "{'k1': 'x', 'b': ''}"]).to_owned(),
        }
    }

    fn leaf(&mut self, kind: Kind) -> String {
        let local = self.locals.iter().rev().find(|(_, known)| *known == kind).map(|(name, _)| name.clone());
        if let Some(name) = local.filter(|_| self.random.chance(60)) {
            return name;
        }
        if self.random.chance(60) {
            let fields = self.field(kind);
            return fields[self.random.below(fields.len())].to_owned();
        }
        self.literal(kind)
    }

    /// A macro over a range, with a variable of the range's type in scope.
    fn with_local(&mut self, kind: Kind, write: impl FnOnce(&mut Self, &str) -> String) -> String {
        let name = ["x", "y", "z", "w"][self.locals.len() % 4].to_owned();
        self.locals.push((name.clone(), kind));
        let text = write(self, &name);
        self.locals.pop();
        text
    }

    pub(crate) fn of(&mut self, kind: Kind, depth: usize) -> String {
        if depth == 0 || self.random.chance(15) {
            return self.leaf(kind);
        }
        let below = depth - 1;
        if self.random.chance(7) {
            let (condition, then, otherwise) = (self.of(Kind::Bool, below), self.of(kind, below), self.of(kind, below));
            return format!("(({condition}) ? {then} : {otherwise})");
        }
        match kind {
            Kind::Bool => self.bool(below),
            Kind::Int => self.int(below),
            Kind::Double => self.double(below),
            Kind::Text => self.text(below),
            Kind::Bytes => {
                let (one, two) = (self.of(Kind::Bytes, below), self.of(Kind::Text, below));
                if self.random.chance(50) { format!("({one} + {one})") } else { format!("bytes({two})") }
            }
            Kind::Time => {
                let (time, duration) = (self.of(Kind::Time, below), self.of(Kind::Duration, below));
                let sign = self.random.pick(&["+", "-"]);
                format!("({time} {sign} {duration})")
            }
            Kind::Duration => {
                let (one, two) = (self.of(Kind::Duration, below), self.of(Kind::Time, below));
                match self.random.below(3) {
                    0 => format!("({one} + {one})"),
                    1 => format!("({two} - {two})"),
                    _ => format!("({one} - duration('1s'))"),
                }
            }
            Kind::Ints => self.ints(below),
            Kind::Texts => self.texts(below),
            Kind::Map => {
                let (key, value) = (self.of(Kind::Text, below), self.of(Kind::Text, below));
                match self.random.below(3) {
                    0 => format!("{{{key}: {value}}}"),
                    1 => self.with_local(Kind::Text, |this, name| {
                        let value = this.of(Kind::Text, below);
                        format!("{}.transformMap(k, {name}, {value})", this.one())
                    }),
                    _ => self.leaf(Kind::Map),
                }
            }
        }
    }

    fn bool(&mut self, depth: usize) -> String {
        match self.random.below(30) {
            0..=2 => format!("({} && {})", self.of(Kind::Bool, depth), self.of(Kind::Bool, depth)),
            3..=5 => format!("({} || {})", self.of(Kind::Bool, depth), self.of(Kind::Bool, depth)),
            6 => format!("!({})", self.of(Kind::Bool, depth)),
            7..=9 => {
                let kind = KINDS[self.random.below(KINDS.len())];
                let operator = self.random.pick(&["==", "!="]);
                format!("({} {operator} {})", self.of(kind, depth), self.of(kind, depth))
            }
            10..=11 => {
                let kind = [Kind::Int, Kind::Double, Kind::Text, Kind::Time, Kind::Duration, Kind::Bytes]
                    [self.random.below(6)];
                let operator = self.random.pick(&["<", "<=", ">", ">="]);
                format!("({} {operator} {})", self.of(kind, depth), self.of(kind, depth))
            }
            12..=13 => {
                let function = self.random.pick(&["contains", "startsWith", "endsWith", "matches"]);
                let part = if function == "matches" {
                    self.random.pick(&["'^[a-z]+$'", "'a|b'", "'.*'", "'[0-9]{2,}'", "'\\\\w+'"]).to_owned()
                } else {
                    self.of(Kind::Text, depth)
                };
                format!("{}.{function}({part})", self.of(Kind::Text, depth))
            }
            14 => format!("({} in {})", self.of(Kind::Text, depth), self.of(Kind::Texts, depth)),
            15 => format!("({} in {})", self.of(Kind::Int, depth), self.of(Kind::Ints, depth)),
            16 => format!("({} in {})", self.of(Kind::Text, depth), self.of(Kind::Map, depth)),
            17..=20 => {
                let texts = self.random.chance(50);
                let (range, element) = if texts { (Kind::Texts, Kind::Text) } else { (Kind::Ints, Kind::Int) };
                let range = self.of(range, depth);
                let name = self.random.pick(&["all", "exists", "exists_one"]);
                self.with_local(element, |this, variable| {
                    format!("{range}.{name}({variable}, {})", this.of(Kind::Bool, depth))
                })
            }
            21 => {
                let range = self.one();
                let name = self.random.pick(&["all", "exists", "existsOne"]);
                self.with_local(Kind::Text, |this, variable| {
                    format!("{range}.{name}(k, {variable}, k != '' && {})", this.of(Kind::Bool, depth))
                })
            }
            22 => {
                let function = self.random.pick(&["isQuantity", "isIP", "isCIDR", "isURL", "isSemver"]);
                format!("{function}({})", self.of(Kind::Text, depth))
            }
            23 => {
                let (one, two) = (self.of(Kind::Texts, depth), self.of(Kind::Texts, depth));
                format!("sets.{}({one}, {two})", self.random.pick(&["contains", "equivalent", "intersects"]))
            }
            24 => format!(
                "{}.isSorted()",
                if self.random.chance(50) { self.of(Kind::Ints, depth) } else { self.of(Kind::Texts, depth) }
            ),
            25 => {
                let text = self.of(Kind::Text, depth);
                match self.random.below(6) {
                    0 => format!("quantity({text}).isGreaterThan(quantity('10'))"),
                    1 => format!("ip({text}).isLoopback()"),
                    2 => format!("cidr('10.0.0.0/8').containsIP({text})"),
                    3 => format!("semver({text}).isLessThan(semver('2.0.0'))"),
                    4 => format!("url({text}).getHost() == 'example.com'"),
                    _ => format!("format.dns1123Label().validate({text}).hasValue()"),
                }
            }
            26 => format!("(type({}) == string)", self.of(Kind::Text, depth)),
            27 => {
                let root = if self.environment == Environment::Rule { "self" } else { "object" };
                match self.random.below(3) {
                    0 => format!("{root}.?o.?deep.?x.hasValue()"),
                    1 => format!("has({root}.nul)"),
                    _ => format!("{root}.?o.a.orValue({}) != ''", self.of(Kind::Text, depth)),
                }
            }
            28 => format!("({}.size() > {})", self.of(Kind::Texts, depth), self.of(Kind::Int, depth)),
            _ => {
                let root = if self.environment == Environment::Rule { "self" } else { "object" };
                let name = self.random.pick(&["set", "ml", "o", "li", "loose", "m"]);
                format!("({root}.{name} == {root}.{name})")
            }
        }
    }

    fn int(&mut self, depth: usize) -> String {
        match self.random.below(14) {
            0..=3 => {
                let operator = self.random.pick(&["+", "-", "*", "/", "%"]);
                format!("({} {operator} {})", self.of(Kind::Int, depth), self.of(Kind::Int, depth))
            }
            4 => format!("-({})", self.of(Kind::Int, depth)),
            5 => format!("size({})", self.of(Kind::Text, depth)),
            6 => format!("{}.size()", self.of(Kind::Texts, depth)),
            7 => {
                let function = self.random.pick(&["sum", "min", "max"]);
                format!("{}.{function}()", self.of(Kind::Ints, depth))
            }
            8 => format!("{}.indexOf({})", self.of(Kind::Text, depth), self.of(Kind::Text, depth)),
            9 => format!("{}.lastIndexOf({})", self.of(Kind::Texts, depth), self.of(Kind::Text, depth)),
            10 => {
                let function = self.random.pick(&[
                    "getFullYear",
                    "getMonth",
                    "getDate",
                    "getDayOfWeek",
                    "getHours",
                    "getMilliseconds",
                ]);
                format!("{}.{function}()", self.of(Kind::Time, depth))
            }
            11 => format!("int({})", self.of(Kind::Double, depth)),
            12 => format!("{}[{}]", self.of(Kind::Ints, depth), self.of(Kind::Int, depth)),
            _ => format!("{}.getSeconds()", self.of(Kind::Duration, depth)),
        }
    }

    fn double(&mut self, depth: usize) -> String {
        match self.random.below(4) {
            0..=1 => {
                let operator = self.random.pick(&["+", "-", "*", "/"]);
                format!("({} {operator} {})", self.of(Kind::Double, depth), self.of(Kind::Double, depth))
            }
            2 => format!("double({})", self.of(Kind::Int, depth)),
            _ => "quantity('1.5Gi').asApproximateFloat()".to_owned(),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        match self.random.below(16) {
            0..=2 => format!("({} + {})", self.of(Kind::Text, depth), self.of(Kind::Text, depth)),
            3 => {
                let function = self.random.pick(&["lowerAscii", "upperAscii", "trim"]);
                format!("{}.{function}()", self.of(Kind::Text, depth))
            }
            4 => format!("{}.substring({})", self.of(Kind::Text, depth), self.of(Kind::Int, depth)),
            5 => format!(
                "{}.replace({}, {})",
                self.of(Kind::Text, depth),
                self.of(Kind::Text, depth),
                self.of(Kind::Text, depth)
            ),
            6 => format!("{}.join({})", self.of(Kind::Texts, depth), self.of(Kind::Text, depth)),
            7 => {
                let kind = [Kind::Int, Kind::Bool, Kind::Double, Kind::Time, Kind::Duration, Kind::Bytes]
                    [self.random.below(6)];
                format!("string({})", self.of(kind, depth))
            }
            8 => format!("{}.charAt({})", self.of(Kind::Text, depth), self.of(Kind::Int, depth)),
            9 => format!("{}.find('[a-z]+')", self.of(Kind::Text, depth)),
            10 => format!("'%s:%d'.format([{}, {}])", self.of(Kind::Text, depth), self.of(Kind::Int, depth)),
            11 => format!("strings.quote({})", self.of(Kind::Text, depth)),
            12 => format!("{}[{}]", self.of(Kind::Map, depth), self.of(Kind::Text, depth)),
            13 => format!("{}[{}]", self.of(Kind::Texts, depth), self.of(Kind::Int, depth)),
            14 => format!("optional.of({}).orValue('x')", self.of(Kind::Text, depth)),
            _ => format!(
                "{}[?{}].orValue({})",
                self.of(Kind::Map, depth),
                self.of(Kind::Text, depth),
                self.of(Kind::Text, depth)
            ),
        }
    }

    fn ints(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0 => format!("({} + {})", self.of(Kind::Ints, depth), self.of(Kind::Ints, depth)),
            1 => format!("[{}, {}]", self.of(Kind::Int, depth), self.of(Kind::Int, depth)),
            2..=3 => {
                let range = self.of(Kind::Ints, depth);
                self.with_local(Kind::Int, |this, name| {
                    let filter = this.random.chance(50);
                    if filter {
                        format!("{range}.filter({name}, {})", this.of(Kind::Bool, depth))
                    } else {
                        format!("{range}.map({name}, {})", this.of(Kind::Int, depth))
                    }
                })
            }
            4 => {
                let range = self.of(Kind::Texts, depth);
                self.with_local(Kind::Text, |this, name| format!("{range}.map({name}, {})", this.of(Kind::Int, depth)))
            }
            5 => {
                let function = self.random.pick(&["sort()", "reverse()", "distinct()", "slice(0, 1)"]);
                format!("{}.{function}", self.of(Kind::Ints, depth))
            }
            6 => format!("[{}].flatten()", self.of(Kind::Ints, depth)),
            _ => "lists.range(3)".to_owned(),
        }
    }

    fn texts(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0 => format!("({} + {})", self.of(Kind::Texts, depth), self.of(Kind::Texts, depth)),
            1 => format!("[{}, {}]", self.of(Kind::Text, depth), self.of(Kind::Text, depth)),
            2 => format!("{}.split({})", self.of(Kind::Text, depth), self.of(Kind::Text, depth)),
            3 => {
                let range = self.of(Kind::Texts, depth);
                self.with_local(Kind::Text, |this, name| format!("{range}.map({name}, {})", this.of(Kind::Text, depth)))
            }
            4 => {
                let range = self.of(Kind::Texts, depth);
                self.with_local(Kind::Text, |this, name| {
                    format!("{range}.filter({name}, {})", this.of(Kind::Bool, depth))
                })
            }
            5 => format!("{}.findAll('[a-z]')", self.of(Kind::Text, depth)),
            6 => {
                let range = self.of(Kind::Texts, depth);
                self.with_local(Kind::Text, |this, name| {
                    format!("{range}.sortBy({name}, {})", this.of(Kind::Text, depth))
                })
            }
            _ => format!("{}.distinct()", self.of(Kind::Texts, depth)),
        }
    }
}
