//! Words that mean nothing, or too much.

use crate::lab::Lab;

#[tokio::test]
async fn a_kind_that_is_not_served_is_answered_with_near_ones() {
    let Some(lab) = Lab::open().await else { return };
    lab.run("status show deployer")
        .await
        .exits(3)
        .says_only(&["error: the cluster serves no kind named `deployer`", "deployments.apps"]);
    lab.run("status wait widgit/one").await.exits(3).says_only(&["the cluster serves no kind named `widgit`"]);
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused() {
    let Some(lab) = Lab::open().await else { return };
    for command in ["status show deploy web -A", "status wait deploy/web -A", "status lint deploy/web -A"] {
        lab.run_anywhere(command)
            .await
            .exits(3)
            .says_only(&["-A cannot be used with the name of an object", "use -n NAMESPACE"]);
    }
    lab.run_anywhere("status wait deploy -A").await.exits(3).says_only(&["pass a namespace with -n"]);
    lab.run("status show").await.exits(3).says_only(&["no objects selected: pass a KIND"]);
    lab.run("status show deploy/web pods").await.exits(3).says_only(&["`pods` is not KIND/NAME"]);
    lab.run("status show deploy -l a=b=c").await.exits(3).says(&["`a=b=c` is not a label selector"]);
    lab.run("status show deploy --context nowhere").await.exits(3).says_only(&["nowhere"]);
}
