//! The messages between the operator and a child: a length of four bytes, the most significant first, and JSON.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use clearway_policy::{EnforcementAction, EnforcementPoint, ReviewResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LoadError, LoadOutcome, MAX_MESSAGE_BYTES};

/// What a child is asked to do. All but `Replay` are answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request<C = ChangeMessage, I = ReviewItem> {
    /// The first message: the limits. Answered by `Ready`.
    Start(Limits),
    /// Loads something, or only tries to. Answered by `Changed`.
    Change {
        change: C,
        /// Whether nothing is to be loaded.
        check: bool,
    },
    /// Loads what another child has loaded before.
    Replay(C),
    /// Answered by `Ready`, after everything before was done.
    Finish,
    /// Evaluates. Answered by `Reviewed`, with any number of `Evaluating` before it.
    Review {
        point: Point,
        items: Vec<I>,
        /// Whether each template is named before it is evaluated.
        announce: bool,
        /// The time, in nanoseconds since 1970.
        now: i64,
    },
}

/// What a child may use.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Limits {
    /// Bytes, besides the program and its stack.
    pub(super) memory: u64,
    /// Milliseconds of CPU for one template and one object, or for compiling a template.
    pub(super) milliseconds: u64,
    /// Steps of one evaluation of Rego.
    pub(super) steps: u64,
    pub(super) reject_unknown_actions: bool,
}

/// A change as it is sent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChangeMessage<V = Value> {
    PutTemplate(V),
    RemoveTemplate {
        name: String,
    },
    /// Makes the evaluation of a template fail with a message, until the template is replaced.
    FailTemplate {
        name: String,
        message: String,
    },
    PutConstraint {
        constraint: V,
        /// The template to check it by, if that is not loaded; only with `check`.
        template: Option<V>,
    },
    RemoveConstraint {
        kind: String,
        name: String,
    },
    PutExpansion(V),
    RemoveExpansion {
        name: String,
    },
    PutInventory(V),
    RemoveInventory {
        group: String,
        version: String,
        kind: String,
        namespace: String,
        name: String,
    },
}

/// Where reviews come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Point {
    /// `subject` of items is an `AdmissionRequest`.
    Webhook,
    /// `subject` of items is an object.
    Audit,
}

impl From<Point> for EnforcementPoint {
    fn from(point: Point) -> Self {
        match point {
            Point::Webhook => EnforcementPoint::Webhook,
            Point::Audit => EnforcementPoint::Audit,
        }
    }
}

/// What is reviewed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReviewItem<V = Value> {
    pub(super) subject: V,
    pub(super) namespace: Option<V>,
    /// Templates that failed before for this item, with the message of their violations.
    pub(super) failed: BTreeMap<String, String>,
}

/// What a child answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Response {
    Ready,
    Changed(LoadedMessage),
    Evaluating {
        item: usize,
        template: String,
    },
    Reviewed {
        outcomes: Vec<ReviewOutcome>,
        /// Templates that were stopped because they took too long.
        stopped: Vec<String>,
    },
    /// The last message of a child whose work took too long and could not be stopped in another way.
    TimedOut {
        item: usize,
        template: Option<String>,
    },
}

/// What became of one item.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReviewOutcome {
    Results(Vec<ResultMessage>),
    Error(String),
}

/// A violation as it is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ResultMessage {
    kind: String,
    name: String,
    message: String,
    details: Option<Value>,
    action: String,
    scoped_actions: Vec<String>,
}

impl From<ReviewResult> for ResultMessage {
    fn from(result: ReviewResult) -> Self {
        ResultMessage {
            kind: result.kind,
            name: result.name,
            message: result.message,
            details: result.details,
            action: result.action.as_str().to_owned(),
            scoped_actions: result.scoped_actions,
        }
    }
}

impl From<ResultMessage> for ReviewResult {
    fn from(message: ResultMessage) -> Self {
        ReviewResult {
            kind: message.kind,
            name: message.name,
            message: message.message,
            details: message.details,
            action: EnforcementAction::of(&message.action),
            scoped_actions: message.scoped_actions,
        }
    }
}

/// What became of a change, as it is sent.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct LoadedMessage {
    pub(super) error: Option<LoadError>,
    pub(super) warning: Option<String>,
    pub(super) refused_constraints: Vec<(String, LoadError)>,
    /// Whether the template of a constraint is missing.
    pub(super) missing_template: bool,
}

impl From<LoadedMessage> for LoadOutcome {
    fn from(message: LoadedMessage) -> Self {
        LoadOutcome { error: message.error, warning: message.warning, refused_constraints: message.refused_constraints }
    }
}

/// The bytes of a message; an error with its size if it is too large.
pub(super) fn encode(message: &impl Serialize) -> Result<Vec<u8>, usize> {
    let mut bytes = vec![0; 4];
    // Values of JSON have texts as keys, and writing into memory does not fail.
    serde_json::to_writer(&mut bytes, message).map_err(|_| 0_usize)?;
    let length = bytes.len().saturating_sub(4);
    let prefix = u32::try_from(length).ok().filter(|length| *length <= MAX_MESSAGE_BYTES).ok_or(length)?;
    if let Some(place) = bytes.first_chunk_mut::<4>() {
        *place = prefix.to_be_bytes();
    }
    Ok(bytes)
}

/// Reads one message of a pipe, in the child; nothing at its end.
pub(super) fn read(pipe: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match pipe.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = vec![0; checked_length(length)?];
    pipe.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

/// The length of the next message, if it is one that is read.
pub(super) fn checked_length(prefix: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_be_bytes(prefix);
    if length > MAX_MESSAGE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes")));
    }
    usize::try_from(length).map_err(io::Error::other)
}

/// Writes one message into a pipe, in the child.
pub(super) fn write(pipe: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let bytes = encode(message).map_err(|size| io::Error::other(format!("a message of {size} bytes")))?;
    pipe.write_all(&bytes)?;
    pipe.flush()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let request: Request = Request::Change { change: ChangeMessage::PutTemplate(json!({"a": "ä"})), check: true };
        let mut bytes = encode(&request).unwrap();
        bytes.extend(encode(&Response::Ready).unwrap());
        let mut pipe = bytes.as_slice();
        let first: Request = serde_json::from_slice(&read(&mut pipe).unwrap().unwrap()).unwrap();
        assert!(
            matches!(first, Request::Change { change: ChangeMessage::PutTemplate(value), check: true } if value["a"] == "ä")
        );
        let second: Response = serde_json::from_slice(&read(&mut pipe).unwrap().unwrap()).unwrap();
        assert!(matches!(second, Response::Ready));
        assert_eq!(read(&mut pipe).unwrap(), None);
    }

    #[test]
    fn a_message_over_the_limit_is_neither_written_nor_read() {
        let text = "x".repeat(MAX_MESSAGE_BYTES as usize);
        assert_eq!(encode(&text), Err(text.len() + 2));
        let mut pipe: &[u8] = &[0xff, 0xff, 0xff, 0xff, 0];
        assert_eq!(read(&mut pipe).unwrap_err().to_string(), "a message of 4294967295 bytes");
    }

    /// Results go through JSON without a loss.
    #[test]
    fn a_result_is_the_same_after_it_was_sent() {
        let result = ReviewResult {
            kind: "K8sX".to_owned(),
            name: "x".to_owned(),
            message: "m".to_owned(),
            details: Some(json!({"a": [1, null]})),
            action: EnforcementAction::Unknown("log".to_owned()),
            scoped_actions: vec!["deny".to_owned()],
        };
        let sent = serde_json::to_string(&ResultMessage::from(result.clone())).unwrap();
        assert_eq!(ReviewResult::from(serde_json::from_str::<ResultMessage>(&sent).unwrap()), result);
    }
}
