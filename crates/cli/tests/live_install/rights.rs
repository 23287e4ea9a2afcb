//! What each identity may do, as the API server's own authorizer sees it: asked about every resource that is served and
//! every verb, and not about examples.

use std::collections::BTreeSet;

use clearway_testbed::Cluster;
use futures::{StreamExt as _, stream};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::{api, bare, create, run};

const NAMESPACE: &str = "clearway";
const OPERATOR: &str = "clearway-operator";
const READER: &str = "clearway-evidence-reader";
const UPDATER: &str = "clearway-updater";

/// Every verb that means something to an authorizer of Kubernetes.
const VERBS: [&str; 14] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "impersonate",
    "bind",
    "escalate",
    "approve",
    "sign",
    "use",
];

/// What is authorized but not served: identities that can be impersonated, and signers.
const NOT_SERVED: [(&str, &str); 6] = [
    ("", "users"),
    ("", "groups"),
    ("", "serviceaccounts"),
    ("authentication.k8s.io", "uids"),
    ("authentication.k8s.io", "userextras/scopes"),
    ("certificates.k8s.io", "signers"),
];

/// Something that may be done: verb, resource and group, namespace (empty: everywhere), and the name if it is about one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Act {
    verb: &'static str,
    group: String,
    resource: String,
    namespace: &'static str,
    name: &'static str,
}

fn act(verb: &'static str, group: &str, resource: &str, namespace: &'static str, name: &'static str) -> Act {
    Act { verb, group: group.to_owned(), resource: resource.to_owned(), namespace, name }
}

async fn fetch(client: &Client, path: &str) -> Value {
    client.request(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap()
}

/// Group and name of every resource and subresource that is served.
async fn served(client: &Client) -> BTreeSet<(String, String)> {
    let groups = fetch(client, "/apis").await;
    let mut paths = vec![(String::new(), "/api/v1".to_owned())];
    for group in groups["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            let name = group["name"].as_str().unwrap().to_owned();
            paths.push((name, format!("/apis/{}", version["groupVersion"].as_str().unwrap())));
        }
    }
    let mut served = BTreeSet::new();
    for (group, path) in paths {
        let list = fetch(client, &path).await;
        for resource in list["resources"].as_array().unwrap() {
            served.insert((group.clone(), resource["name"].as_str().unwrap().to_owned()));
        }
    }
    served
}

/// Every act on every resource, everywhere and in the operator's namespace, on any object and on those with names of ours.
async fn every_act(client: &Client) -> Vec<Act> {
    let mut resources = served(client).await;
    resources.extend(NOT_SERVED.map(|(group, resource)| (group.to_owned(), resource.to_owned())));
    assert!(resources.len() > 100, "{resources:?}");
    let mut acts = Vec::new();
    for (group, resource) in &resources {
        for verb in VERBS {
            for namespace in ["", NAMESPACE] {
                acts.push(act(verb, group, resource, namespace, ""));
            }
        }
    }
    let named = [
        ("coordination.k8s.io", "leases", &[OPERATOR, "other"][..]),
        ("", "configmaps", &["clearway-kept-clusterversion-version", "clearway-release-keys", "other"]),
        ("", "secrets", &["other"]),
        ("", "serviceaccounts", &[OPERATOR, READER, UPDATER, "default"]),
    ];
    for (group, resource, names) in named {
        for verb in VERBS {
            for namespace in ["", NAMESPACE, "kube-system"] {
                acts.extend(names.iter().map(|name| act(verb, group, resource, namespace, name)));
            }
        }
    }
    acts
}

/// Which of these acts a service account may do, by asking the authorizer about each.
async fn allowed(admin: &Client, account: &str, acts: &[Act]) -> BTreeSet<Act> {
    let groups = ["system:serviceaccounts", "system:serviceaccounts:clearway", "system:authenticated"];
    let ask = |act: Act| async move {
        let (resource, sub) = act.resource.split_once('/').unwrap_or((&act.resource, ""));
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
            "spec": {
                "user": format!("system:serviceaccount:{NAMESPACE}:{account}"), "groups": groups,
                "resourceAttributes": {
                    "verb": act.verb, "group": act.group, "resource": resource, "subresource": sub,
                    "namespace": act.namespace, "name": act.name,
                },
            },
        });
        let request = http::Request::post("/apis/authorization.k8s.io/v1/subjectaccessreviews");
        let answer: Value = admin.request(request.body(review.to_string().into_bytes()).unwrap()).await.unwrap();
        (answer["status"]["allowed"] == true).then_some(act)
    };
    stream::iter(acts.iter().cloned()).map(ask).buffer_unordered(32).filter_map(async |act| act).collect().await
}

/// What the operator's account may do in an installation of the standard channel that only advises.
fn expected_of_the_operator() -> BTreeSet<Act> {
    let mut expected = BTreeSet::new();
    let (config, crds) = ("config.openshift.io", "apiextensions.k8s.io");
    for (verbs, group, resource) in [
        (&["get", "list", "watch"][..], config, "clusterversions"),
        (&["get", "patch", "update"], config, "clusterversions/status"),
        (&["get", "list", "watch"], crds, "customresourcedefinitions"),
        (&["create", "patch"], "", "events"),
        (&["create", "patch"], "events.k8s.io", "events"),
    ] {
        for verb in verbs {
            expected.extend(["", NAMESPACE].map(|namespace| act(verb, group, resource, namespace, "")));
        }
    }
    // What is created has no name yet that an authorizer could look at.
    for name in ["", OPERATOR, "other"] {
        expected.insert(act("create", "coordination.k8s.io", "leases", NAMESPACE, name));
    }
    for verb in ["get", "patch"] {
        expected.insert(act(verb, "coordination.k8s.io", "leases", NAMESPACE, OPERATOR));
    }
    for name in ["", "clearway-kept-clusterversion-version", "clearway-release-keys", "other"] {
        expected.insert(act("create", "", "configmaps", NAMESPACE, name));
    }
    for verb in ["get", "patch"] {
        expected.insert(act(verb, "", "configmaps", NAMESPACE, "clearway-kept-clusterversion-version"));
    }
    expected.insert(act("impersonate", "", "serviceaccounts", NAMESPACE, READER));
    expected
}

#[tokio::test]
async fn each_identity_may_do_what_it_needs_and_nothing_else() {
    let Some((cluster, admin)) = bare().await else { return };
    let here = cluster.kubeconfig();
    assert_eq!(run(here, "install --adopt 1.0.0").code, 0);
    let acts = every_act(&admin).await;
    // What every account of the namespace may do is not ours to give or take: looking at itself.
    let everybody = allowed(&admin, "nobody", &acts).await;
    let acts: Vec<Act> = acts.into_iter().filter(|act| !everybody.contains(act)).collect();

    let operator = allowed(&admin, OPERATOR, &acts).await;
    let expected = expected_of_the_operator();
    let (more, less): (Vec<_>, Vec<_>) =
        (operator.difference(&expected).collect(), expected.difference(&operator).collect());
    assert!(more.is_empty() && less.is_empty(), "may, and should not: {more:?}\nmay not, and should: {less:?}");

    let reader = allowed(&admin, READER, &acts).await;
    reads_without_secrets(&reader);
    assert!(allowed(&admin, UPDATER, &acts).await.is_empty(), "there is no updater");

    by_doing_it(&cluster, &admin).await;

    // With updates, the operator's own account may do one thing more: be the updater. The reader stays as it is.
    assert_eq!(run(here, "install --apply-updates --allow-unsigned-releases").code, 0);
    let more: Vec<Act> = allowed(&admin, OPERATOR, &acts).await.difference(&expected).cloned().collect();
    assert_eq!(more, [act("impersonate", "", "serviceaccounts", NAMESPACE, UPDATER)]);
    assert_eq!(allowed(&admin, READER, &acts).await, reader);
    assert_eq!(allowed(&admin, UPDATER, &acts).await.len(), acts.len(), "the updater may do everything");
    let refused = forbidden(&client_of(&cluster, OPERATOR, None).await, "secrets").await;
    assert!(refused, "the operator's account itself still reads no Secret");
    assert!(!forbidden(&client_of(&cluster, OPERATOR, Some(UPDATER)).await, "secrets").await);

    // And back: nothing of it stays.
    assert_eq!(run(here, "install --unset apply-updates").code, 0);
    assert_eq!(allowed(&admin, OPERATOR, &acts).await, expected);
    assert!(allowed(&admin, UPDATER, &acts).await.is_empty());

    // The experimental channel has objects of any name; metrics that are authenticated take two reviews.
    assert_eq!(run(here, "install --channel experimental --metrics authenticated").code, 0);
    let more: BTreeSet<(&str, String)> = allowed(&admin, OPERATOR, &acts)
        .await
        .difference(&expected)
        .map(|act| (act.verb, format!("{} {}", act.resource, act.namespace)))
        .collect();
    let expected: BTreeSet<(&str, String)> = [
        ("create", "subjectaccessreviews "),
        ("create", "subjectaccessreviews clearway"),
        ("create", "tokenreviews "),
        ("create", "tokenreviews clearway"),
        ("get", "configmaps clearway"),
        ("patch", "configmaps clearway"),
    ]
    .map(|(verb, resource)| (verb, resource.to_owned()))
    .into();
    assert_eq!(more, expected);
}

/// The properties of what evidence is read with, whatever the list of kinds becomes.
fn reads_without_secrets(reader: &BTreeSet<Act>) {
    for act in reader {
        assert!(["get", "list"].contains(&act.verb), "{act:?}");
        assert!(!act.resource.contains('/'), "no subresource: {act:?}");
        assert!(act.resource != "secrets" && act.resource != "serviceaccounts", "{act:?}");
        assert!(act.group != "rbac.authorization.k8s.io", "whom to attack is nobody's business: {act:?}");
        assert!(act.resource != "configmaps" || act.verb == "get", "{act:?}");
    }
    for (group, resource) in [
        ("", "nodes"),
        ("", "pods"),
        ("", "namespaces"),
        ("apps", "deployments"),
        ("storage.k8s.io", "storageclasses"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("apiregistration.k8s.io", "apiservices"),
        ("config.openshift.io", "clusterversions"),
    ] {
        assert!(reader.contains(&act("list", group, resource, "", "")), "{resource}");
    }
    assert!(reader.contains(&act("get", "", "configmaps", "", "")));
}

/// A client with the token of a service account, which may impersonate another.
async fn client_of(cluster: &Cluster, account: &str, impersonate: Option<&str>) -> Client {
    let mut config: Config = cluster.config().await.unwrap();
    config.auth_info = kube::config::AuthInfo {
        token: Some(cluster.token_for_service_account(NAMESPACE, account).await.unwrap().into()),
        impersonate: impersonate.map(|account| format!("system:serviceaccount:{NAMESPACE}:{account}")),
        ..kube::config::AuthInfo::default()
    };
    Client::try_from(config).unwrap()
}

/// Whether listing a kind of the core group is refused.
async fn forbidden(client: &Client, resource: &str) -> bool {
    let request = http::Request::get(format!("/api/v1/{resource}")).body(Vec::new()).unwrap();
    match client.request::<Value>(request).await {
        Ok(_) => false,
        Err(kube::Error::Api(status)) if status.code == 403 => true,
        Err(error) => panic!("{error}"),
    }
}

/// The same by requests: what impersonation gives, and what it does not.
async fn by_doing_it(cluster: &Cluster, admin: &Client) {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}});
    create(admin, secret, Some(NAMESPACE)).await;
    let own = client_of(cluster, OPERATOR, None).await;
    let reader = client_of(cluster, OPERATOR, Some(READER)).await;
    for (client, resource, refused) in [
        (&own, "nodes", true),
        (&own, "pods", true),
        (&own, "secrets", true),
        (&reader, "nodes", false),
        (&reader, "pods", false),
        (&reader, "secrets", true),
        (&reader, "configmaps", true),
    ] {
        assert_eq!(forbidden(client, resource).await, refused, "{resource}");
    }
    let refused = api(&reader, "v1", "Secret", Some(NAMESPACE)).get("s").await.unwrap_err().to_string();
    assert!(refused.contains("is forbidden"), "{refused}");
    for other in ["default", UPDATER] {
        assert!(forbidden(&client_of(cluster, OPERATOR, Some(other)).await, "nodes").await, "{other}");
    }
    // Nor may it add a group, or be a person.
    let mut config: Config = cluster.config().await.unwrap();
    let token = cluster.token_for_service_account(NAMESPACE, OPERATOR).await.unwrap();
    for (user, groups) in [
        (format!("system:serviceaccount:{NAMESPACE}:{READER}"), vec!["system:masters".to_owned()]),
        ("admin".to_owned(), Vec::new()),
    ] {
        config.auth_info = kube::config::AuthInfo {
            token: Some(token.clone().into()),
            impersonate: Some(user),
            impersonate_groups: (!groups.is_empty()).then_some(groups),
            ..kube::config::AuthInfo::default()
        };
        assert!(forbidden(&Client::try_from(config.clone()).unwrap(), "nodes").await);
    }
}

/// What administrators label is added to what evidence may read, by the cluster's own controller.
#[tokio::test]
async fn labelled_roles_extend_what_rules_may_look_at() {
    let Some(cluster) = clearway_testbed::own_cluster(&clearway_testbed::ClusterOptions::default()).await else {
        return;
    };
    let admin = cluster.client().await.unwrap();
    assert_eq!(run(cluster.kubeconfig(), "install").code, 0);
    let acts = [act("list", "certificates.k8s.io", "certificatesigningrequests", "", "")];
    assert!(allowed(&admin, READER, &acts).await.is_empty());
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "more", "labels": {"clearway.dev/aggregate-to-evidence": "true"}},
        "rules": [{"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["get", "list"]}],
    });
    create(&admin, role, None).await;
    clearway_testbed::wait_until(clearway_testbed::IN_TIME, "the role is aggregated", async || {
        !allowed(&admin, READER, &acts).await.is_empty()
    })
    .await
    .unwrap();
    let again = run(cluster.kubeconfig(), "install -o json");
    assert_eq!(again.action("ClusterRole", "clearway-evidence-additions"), "unchanged", "{}", again.out);
    assert!(!allowed(&admin, READER, &acts).await.is_empty(), "installing again takes nothing away");
}
