//! What becomes of the requests of a route: which share of which requests fails, and why (G6).

use serde::Serialize;

use super::Engine;
use super::attachment::{Attachment, RouteState};
use super::references::Referrer;
use super::route_conditions::{rule_problem, rule_words};
use super::store::Id;
use crate::model::{Backend, Body, FilterReference, Object, ObjectKey, Route, RouteKind, Rule};
use crate::settings::Features;
use crate::words::ConditionType;
use clearway_conditions::Status;

/// What becomes of the requests of a route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RouteTraffic {
    /// Hostnames that it is for; empty for all.
    pub hostnames: Vec<String>,
    /// Its rules, in order.
    pub rules: Vec<RuleTraffic>,
}

/// What becomes of the requests of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleTraffic {
    /// The rule: `rule 1`, or its name.
    pub rule: String,
    /// Which requests it is for.
    pub requests: String,
    /// What becomes of them; the shares add up to the whole.
    pub shares: Vec<TrafficShare>,
}

/// A share of the requests of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrafficShare {
    /// How much of it, in parts of `of`.
    pub parts: u64,
    /// What the whole is.
    pub of: u64,
    /// What becomes of it.
    pub answer: TrafficAnswer,
    /// Why, or where it goes.
    pub why: String,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum TrafficAnswer {
    /// It goes to a backend.
    Forwarded,
    /// The client is sent elsewhere.
    Redirected,
    /// HTTP status 500.
    #[serde(rename = "500")]
    InternalError,
    /// gRPC status UNAVAILABLE.
    Unavailable,
    /// The connection is refused.
    Refused,
    /// The datagram is dropped.
    Dropped,
    /// No rule of this route takes it: it goes to another route, or gets 404.
    NotRouted,
}

impl TrafficAnswer {
    /// What becomes of it, in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            TrafficAnswer::Forwarded => "forwarded",
            TrafficAnswer::Redirected => "redirected",
            TrafficAnswer::InternalError => "500",
            TrafficAnswer::Unavailable => "UNAVAILABLE",
            TrafficAnswer::Refused => "refused",
            TrafficAnswer::Dropped => "dropped",
            TrafficAnswer::NotRouted => "not routed",
        }
    }

    /// Whether the request gets what the route's author wanted.
    pub const fn is_success(self) -> bool {
        matches!(self, TrafficAnswer::Forwarded | TrafficAnswer::Redirected)
    }

    /// What a data plane does with a request that it has no backend for.
    const fn failure(kind: RouteKind) -> Self {
        match kind {
            RouteKind::Http => TrafficAnswer::InternalError,
            RouteKind::Grpc => TrafficAnswer::Unavailable,
            RouteKind::Tls | RouteKind::Tcp => TrafficAnswer::Refused,
            RouteKind::Udp => TrafficAnswer::Dropped,
        }
    }
}

impl TrafficShare {
    fn whole(answer: TrafficAnswer, why: impl Into<String>) -> Vec<Self> {
        vec![TrafficShare { parts: 1, of: 1, answer, why: why.into() }]
    }

    /// The share in percent, such as `33.3%`.
    pub fn percent(&self) -> String {
        let tenths = (self.parts.saturating_mul(1000) + self.of / 2).checked_div(self.of).unwrap_or(0);
        match tenths % 10 {
            0 => format!("{}%", tenths / 10),
            tenth => format!("{}.{tenth}%", tenths / 10),
        }
    }
}

impl RouteTraffic {
    /// Whether every request gets what the route's author wanted.
    pub fn is_success(&self) -> bool {
        self.rules.iter().flat_map(|rule| &rule.shares).all(|share| share.answer.is_success())
    }
}

impl Engine {
    /// What becomes of the requests of a route, if it is one and all is computed.
    pub fn traffic(&self, key: &ObjectKey) -> Option<RouteTraffic> {
        let id = self.store.find(key)?;
        let object = self.store.object(id)?;
        let Body::Route(route) = &object.body else { return None };
        let state = self.routes.get(id)?;
        let obstacle = self.obstacle(id, object, route, state);
        let features = self
            .attachments_in_order(state)
            .into_iter()
            .find_map(|one| self.parents.get(&one.parent))
            .map(|parent| parent.features.clone())
            .unwrap_or_default();
        let rules = route.rules.iter().enumerate().map(|(index, rule)| RuleTraffic {
            rule: rule_words(index, rule),
            requests: rule.requests.clone(),
            shares: match &obstacle {
                Some((answer, why)) => TrafficShare::whole(*answer, why.clone()),
                None => self.rule_shares(object, route.kind, rule, &features),
            },
        });
        let hostnames = route.hostnames.iter().map(ToString::to_string).collect();
        Some(RouteTraffic { hostnames, rules: rules.collect() })
    }

    /// What keeps all requests from the route.
    fn obstacle(&self, id: Id, object: &Object, route: &Route, state: &RouteState) -> Option<(TrafficAnswer, String)> {
        if state.attached.is_empty() {
            let rejected = state
                .conditions
                .iter()
                .flatten()
                .find(|condition| condition.kind == ConditionType::Accepted && condition.status != Status::True);
            let why = match (rejected, state.unserved.first()) {
                (Some(condition), _) => condition.message.to_string(),
                (None, Some((index, why))) => {
                    let parent = route.parents.get(*index).map(|parent| parent.target.to_string());
                    format!("{}: {why}", parent.unwrap_or_default())
                }
                (None, None) => "it names no parents".to_owned(),
            };
            return Some((TrafficAnswer::NotRouted, why));
        }
        let listener = |one: &Attachment| {
            self.parents.get(&one.parent).and_then(|parent| parent.listeners.get(one.listener as usize))
        };
        let programmed = |one: &&Attachment| {
            let condition = listener(one).and_then(|found| found.condition(ConditionType::Programmed));
            condition.is_none_or(|condition| condition.status != Status::False)
        };
        let attached = self.attachments_in_order(state);
        let working: Vec<&Attachment> = attached.iter().copied().filter(programmed).collect();
        if working.is_empty() {
            let listener = attached.into_iter().find_map(listener)?;
            let message = listener.condition(ConditionType::Programmed).map_or("", |condition| &condition.message);
            let why = format!("listener {} is not programmed: {message}", listener.listener.name);
            return Some((TrafficAnswer::Refused, why));
        }
        if matches!(route.kind, RouteKind::Tcp | RouteKind::Udp) {
            let older: Vec<&Object> = working.iter().filter_map(|one| self.older_route(id, object, one)).collect();
            if older.len() == working.len() {
                let why = format!("{} is older and has the same listener", older.first()?.key);
                return Some((TrafficAnswer::NotRouted, why));
            }
        }
        None
    }

    /// The listeners of a route, in an order that does not depend on that of the input.
    fn attachments_in_order<'a>(&self, state: &'a RouteState) -> Vec<&'a Attachment> {
        let mut attached: Vec<&Attachment> = state.attached.iter().collect();
        attached.sort_by_key(|one| (self.store.key(one.parent), one.listener));
        attached
    }

    /// The oldest other route at a listener, if it is older than this one: only that gets connections.
    fn older_route(&self, id: Id, object: &Object, at: &Attachment) -> Option<&Object> {
        let rivals = self.store.dependents(at.parent).filter(|other| *other != id).filter_map(|other| {
            let attached = self.routes.get(other)?.attached.contains(at);
            let other = self.store.object(other)?;
            (attached && other.age() < object.age()).then_some(other)
        });
        rivals.min_by(|one, two| one.age().cmp(&two.age()))
    }

    fn rule_shares(&self, object: &Object, kind: RouteKind, rule: &Rule, features: &Features) -> Vec<TrafficShare> {
        if let Some((_, what)) = rule_problem(rule, features) {
            return TrafficShare::whole(TrafficAnswer::NotRouted, format!("the rule is dropped: {what}"));
        }
        let from = Referrer { kind: &object.key.kind, namespace: &object.key.namespace };
        let failure = TrafficAnswer::failure(kind);
        let blocking = rule.filters.iter().filter_map(|filter| filter.reference.as_ref());
        // A copy that cannot be made harms no request.
        let mut blocking = blocking.filter(|reference| !matches!(reference, FilterReference::Mirror(_)));
        if let Some(problem) = blocking.find_map(|reference| self.check_filter(from, kind, reference).err()) {
            return TrafficShare::whole(failure, problem.cause.to_string());
        }
        if rule.filters.iter().any(|filter| &*filter.kind == "RequestRedirect") {
            return TrafficShare::whole(TrafficAnswer::Redirected, "by filter RequestRedirect");
        }
        let of: u64 = rule.backends.iter().map(|backend| u64::from(backend.weight)).sum();
        if rule.backends.is_empty() {
            return TrafficShare::whole(failure, "the rule has no backends");
        }
        if of == 0 {
            return TrafficShare::whole(failure, "the weight of every backend is 0");
        }
        let mut shares: Vec<TrafficShare> = Vec::new();
        for backend in rule.backends.iter().filter(|backend| backend.weight > 0) {
            let (answer, why) = match self.backend_failure(from, kind, backend) {
                Some(why) => (failure, why),
                None => (TrafficAnswer::Forwarded, format!("to {}", backend.reference.target)),
            };
            let parts = u64::from(backend.weight);
            match shares.iter_mut().find(|share| share.answer == answer && share.why == why) {
                Some(share) => share.parts += parts,
                None => shares.push(TrafficShare { parts, of, answer, why }),
            }
        }
        shares
    }

    /// Why requests for a backend fail.
    fn backend_failure(&self, from: Referrer<'_>, kind: RouteKind, backend: &Backend) -> Option<String> {
        if let Some(problem) = self.backend_problem(from, kind, backend) {
            return Some(problem.cause.to_string());
        }
        let target = &backend.reference.target;
        let service = self.service(target)?;
        if let Some(port) = backend.port
            && service.port(port).is_none()
        {
            return Some(format!("{target}: it has no port {port}"));
        }
        if let Some(why) = self.broken_policy(target) {
            return Some(why);
        }
        let ready = self.store.ready_endpoints(target);
        let is_empty = match ready {
            Some(ready) => ready == 0,
            None => self.knows_endpoints(),
        };
        (is_empty && !service.external).then(|| format!("{target}: it has no ready endpoints"))
    }

    /// Why the connection to a Service cannot be made with TLS as its policy wants.
    fn broken_policy(&self, service: &ObjectKey) -> Option<String> {
        let policies = self.policies_of.get(&self.store.find(service)?)?;
        let broken = policies.iter().filter_map(|id| {
            let mut rejected = self.policies.get(id)?.iter().flat_map(|ancestor| &ancestor.conditions);
            let condition = rejected.find(|condition| {
                condition.kind == ConditionType::Accepted
                    && condition.status == Status::False
                    && condition.reason != crate::words::Reason::Conflicted
            })?;
            Some(format!("{}: {}", self.store.key(*id)?, condition.message))
        });
        broken.min()
    }
}
