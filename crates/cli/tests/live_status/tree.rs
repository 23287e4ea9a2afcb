//! Owners and what they own, for people and for programs.

use serde_json::Value;

use crate::lab::{Lab, deployment, text};

#[tokio::test]
async fn a_tree_has_the_pods_below_their_replica_set() {
    let Some(lab) = Lab::open().await else { return };
    lab.create(deployment("web", 2, None)).await;
    lab.create(deployment("other", 1, None)).await;
    lab.run("status wait deploy/web deploy/other --timeout 5m --settle 0s").await.exits(0);

    let run = lab.run("status show deploy web --tree").await;
    run.exits(0).says(&["4 objects: 4 Current"]);
    let objects: Vec<String> =
        run.out.lines().skip(1).map(|line| line.split("KindRule").nth(1).unwrap().to_owned()).collect();
    let [web, set, one, two] = objects.as_slice() else { panic!("{run}") };
    assert!(web.trim_start().starts_with(&format!("Deployment.apps {}/web ", lab.ns())), "{run}");
    assert!(set.trim_start().starts_with(&format!("└ ReplicaSet.apps {}/web-", lab.ns())), "{run}");
    let indent = |line: &str| line.find('└').unwrap();
    for pod in [one, two] {
        assert!(pod.trim_start().starts_with(&format!("└ Pod {}/web-", lab.ns())), "{run}");
        assert_eq!(indent(pod), indent(set) + 2, "{run}");
    }

    let run = lab.run("status show deploy web --tree -o json").await;
    let data = run.exits(0).json();
    check_nesting(&data);
    assert_eq!(run.err, "", "a program's output comes with words for people: {run}");
    let run = lab.run("status show deploy web --tree -o yaml").await;
    let yaml: Value = serde_saphyr::from_str(&run.exits(0).out).unwrap();
    check_nesting(&yaml);
    // Without names all of the kind are meant, and without the tree only those.
    let run = lab.run("status show deployments").await;
    run.exits(0).prints(&["/web ", "/other "]).says(&["2 objects: 2 Current"]);
}

fn check_nesting(data: &Value) {
    let [web] = data.as_array().unwrap().as_slice() else { panic!("{data:#}") };
    assert_eq!((text(&web["object"]["kind"]), text(&web["object"]["name"])), ("Deployment", "web"));
    assert_eq!(text(&web["state"]), "Current");
    let [set] = web["owns"].as_array().unwrap().as_slice() else { panic!("{data:#}") };
    assert_eq!(text(&set["object"]["kind"]), "ReplicaSet");
    let pods = set["owns"].as_array().unwrap();
    assert_eq!(pods.len(), 2, "{data:#}");
    assert!(pods.iter().all(|pod| pod["object"]["kind"] == "Pod" && pod["owns"].is_null()), "{data:#}");
}
