//! Objects as a cluster has them, for the benchmarks: what `kubectl get -o yaml` prints, with the mix of kinds, the
//! nesting and the `managedFields` of a busy cluster, and nothing wrong with any of them.

use std::fmt::Write as _;

/// Appends the object of a number.
pub(crate) fn object(number: usize, text: &mut String) {
    match number % 500 {
        499 => definition(number, text),
        of_many => match of_many % 20 {
            0..=5 => deployment(number, text),
            6..=11 => pod(number, text),
            12..=14 => route(number, text),
            15 => gateway(number, text),
            16 | 17 => knative_service(number, text),
            _ => database(number, text),
        },
    }
}

/// Appends an object that is hardly more than its conditions.
#[allow(dead_code, reason = "each benchmark takes the objects it needs")]
pub(crate) fn dense(number: usize, text: &mut String) {
    let (api_version, kind) = match number % 3 {
        0 => ("db.example.com/v1", "Database"),
        1 => ("gateway.networking.k8s.io/v1", "HTTPRoute"),
        _ => ("source.toolkit.fluxcd.io/v1", "GitRepository"),
    };
    _ = write!(
        text,
        "---\napiVersion: {api_version}\nkind: {kind}\nmetadata:\n  creationTimestamp: \"2025-06-01T08:00:00Z\"\n  \
         generation: 3\n  name: shop-{number}\n  namespace: shop\nspec:\n  interval: 5m\nstatus:\n"
    );
    if kind == "HTTPRoute" {
        text.push_str("  parents:\n");
        for _ in 0..2 {
            text.push_str(
                "  - controllerName: example.com/gateway\n    parentRef:\n      name: public\n    conditions:\n",
            );
            condition(text, 4, "Accepted", "Accepted", "the route is accepted");
            condition(text, 4, "ResolvedRefs", "ResolvedRefs", "all references of the route are resolved");
        }
    } else {
        text.push_str("  observedGeneration: 3\n  conditions:\n");
        for type_ in ["Ready", "Available", "Migrated"] {
            condition(text, 2, type_, "AsWanted", "the object is as it should be");
        }
    }
}

fn head(text: &mut String, api_version: &str, kind: &str, number: usize) {
    _ = write!(
        text,
        r#"---
apiVersion: {api_version}
kind: {kind}
metadata:
  annotations:
    example.com/owner: team-{team}
    example.com/contact: 'team {team}: chat, pager'
  creationTimestamp: "2025-06-01T08:00:00Z"
  generation: 3
  labels:
    app.kubernetes.io/instance: shop-{number}
    app.kubernetes.io/managed-by: Helm
    app.kubernetes.io/name: shop
"#,
        team = number % 40,
    );
    if number % 4 == 1 {
        text.push_str(MANAGED_FIELDS);
    }
    _ = write!(
        text,
        r#"  name: shop-{number}
  namespace: team-{team}
  resourceVersion: "{version}"
  uid: 9b2c6c1e-5a1d-4a59-9f57-{number:012}
"#,
        team = number % 40,
        version = 710_000 + number,
    );
}

const MANAGED_FIELDS: &str = r#"  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:annotations:
          .: {}
          f:example.com/owner: {}
        f:labels:
          .: {}
          f:app.kubernetes.io/name: {}
      f:spec:
        f:replicas: {}
    manager: helm
    operation: Update
    time: "2025-06-01T08:00:00Z"
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:status:
        f:conditions:
          .: {}
          k:{"type":"Ready"}:
            .: {}
            f:lastTransitionTime: {}
            f:status: {}
            f:type: {}
        f:observedGeneration: {}
    manager: controller
    operation: Update
    subresource: status
    time: "2025-06-01T08:05:00Z"
"#;

const CONTAINERS: &str = r"containers:
- args:
  - --listen=:8080
  - --log-level=info
  env:
  - name: REGION
    value: eu-central-1
  - name: POD_NAME
    valueFrom:
      fieldRef:
        apiVersion: v1
        fieldPath: metadata.name
  image: registry.example.com/shop/web:1.24.3
  imagePullPolicy: IfNotPresent
  livenessProbe:
    failureThreshold: 3
    httpGet:
      path: /healthz
      port: http
      scheme: HTTP
    periodSeconds: 10
    timeoutSeconds: 1
  name: web
  ports:
  - containerPort: 8080
    name: http
    protocol: TCP
  resources:
    limits:
      memory: 256Mi
    requests:
      cpu: 100m
      memory: 128Mi
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
  terminationMessagePath: /dev/termination-log
  volumeMounts:
  - mountPath: /var/run/secrets/kubernetes.io/serviceaccount
    name: kube-api-access
    readOnly: true
dnsPolicy: ClusterFirst
restartPolicy: Always
schedulerName: default-scheduler
securityContext: {}
serviceAccountName: shop
terminationGracePeriodSeconds: 30
";

fn indented(text: &mut String, block: &str, by: usize) {
    for line in block.lines() {
        _ = writeln!(text, "{:by$}{line}", "");
    }
}

/// A condition with the fields of `metav1.Condition`, in the order of the alphabet, as API servers write them.
fn condition(text: &mut String, by: usize, type_: &str, reason: &str, message: &str) {
    _ = write!(
        text,
        r#"{0:by$}- lastTransitionTime: "2025-06-01T08:05:00Z"
{0:by$}  message: {message}
{0:by$}  observedGeneration: 3
{0:by$}  reason: {reason}
{0:by$}  status: "True"
{0:by$}  type: {type_}
"#,
        "",
    );
}

fn deployment(number: usize, text: &mut String) {
    head(text, "apps/v1", "Deployment", number);
    text.push_str(
        "spec:\n  progressDeadlineSeconds: 600\n  replicas: 3\n  revisionHistoryLimit: 10\n  selector:\n    \
         matchLabels:\n      app.kubernetes.io/name: shop\n  strategy:\n    rollingUpdate:\n      maxSurge: 25%\n      \
         maxUnavailable: 25%\n    type: RollingUpdate\n  template:\n    metadata:\n      labels:\n        \
         app.kubernetes.io/name: shop\n    spec:\n",
    );
    indented(text, CONTAINERS, 6);
    _ = write!(
        text,
        r#"status:
  availableReplicas: 3
  conditions:
  - lastTransitionTime: "2025-06-01T08:05:00Z"
    lastUpdateTime: "2025-06-01T08:05:00Z"
    message: Deployment has minimum availability.
    reason: MinimumReplicasAvailable
    status: "True"
    type: Available
  - lastTransitionTime: "2025-06-01T08:00:00Z"
    lastUpdateTime: "2025-06-01T08:05:00Z"
    message: ReplicaSet "shop-{number}-7d4b9c1" has successfully progressed.
    reason: NewReplicaSetAvailable
    status: "True"
    type: Progressing
  observedGeneration: 3
  readyReplicas: 3
  replicas: 3
  updatedReplicas: 3
"#
    );
}

fn pod(number: usize, text: &mut String) {
    head(text, "v1", "Pod", number);
    text.push_str("spec:\n");
    indented(text, CONTAINERS, 2);
    text.push_str("  nodeName: worker-3\n  tolerations:\n");
    for key in ["not-ready", "unreachable"] {
        _ = write!(
            text,
            "  - effect: NoExecute\n    key: node.kubernetes.io/{key}\n    operator: Exists\n    \
             tolerationSeconds: 300\n"
        );
    }
    text.push_str("status:\n  conditions:\n");
    for type_ in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"] {
        _ = write!(
            text,
            "  - lastProbeTime: null\n    lastTransitionTime: \"2025-06-01T08:05:00Z\"\n    status: \"True\"\n    \
             type: {type_}\n"
        );
    }
    text.push_str(
        r#"  containerStatuses:
  - containerID: containerd://6f1d2c0e6b9b4d4c9ad4f0e4b0b1ce44a7ff2a2cfb2e3fd1d0aa27b0f9c3f2aa
    image: registry.example.com/shop/web:1.24.3
    imageID: registry.example.com/shop/web@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0
    lastState: {}
    name: web
    ready: true
    restartCount: 0
    started: true
    state:
      running:
        startedAt: "2025-06-01T08:04:58Z"
  hostIP: 10.0.12.7
  phase: Running
  podIP: 10.128.3.41
  podIPs:
  - ip: 10.128.3.41
  qosClass: Burstable
  startTime: "2025-06-01T08:04:55Z"
"#,
    );
}

fn route(number: usize, text: &mut String) {
    head(text, "gateway.networking.k8s.io/v1", "HTTPRoute", number);
    text.push_str("spec:\n  hostnames:\n  - shop.example.com\n  parentRefs:\n");
    for parent in ["public", "internal"] {
        _ = write!(
            text,
            "  - group: gateway.networking.k8s.io\n    kind: Gateway\n    name: {parent}\n    namespace: gateways\n"
        );
    }
    text.push_str("  rules:\n");
    for path in ["/", "/cart", "/search"] {
        _ = write!(
            text,
            "  - backendRefs:\n    - group: \"\"\n      kind: Service\n      name: shop\n      port: 8080\n      \
             weight: 1\n    matches:\n    - path:\n        type: PathPrefix\n        value: {path}\n"
        );
    }
    text.push_str("status:\n  parents:\n");
    for parent in ["public", "internal"] {
        text.push_str("  - conditions:\n");
        condition(text, 4, "Accepted", "Accepted", "the route is accepted");
        condition(text, 4, "ResolvedRefs", "ResolvedRefs", "all references of the route are resolved");
        _ = write!(
            text,
            "    controllerName: example.com/gateway\n    parentRef:\n      group: gateway.networking.k8s.io\n      \
             kind: Gateway\n      name: {parent}\n      namespace: gateways\n"
        );
    }
}

fn gateway(number: usize, text: &mut String) {
    head(text, "gateway.networking.k8s.io/v1", "Gateway", number);
    text.push_str("spec:\n  gatewayClassName: example\n  listeners:\n");
    for (listener, port) in [("http", 80), ("https", 443)] {
        _ = write!(
            text,
            "  - allowedRoutes:\n      namespaces:\n        from: All\n    name: {listener}\n    port: {port}\n    \
             protocol: {}\n",
            listener.to_uppercase()
        );
    }
    text.push_str("status:\n  addresses:\n  - type: IPAddress\n    value: 192.0.2.10\n  conditions:\n");
    condition(text, 2, "Accepted", "Accepted", "the gateway is accepted");
    condition(text, 2, "Programmed", "Programmed", "the configuration was sent to the data plane");
    text.push_str("  listeners:\n");
    for listener in ["http", "https"] {
        text.push_str("  - attachedRoutes: 4\n    conditions:\n");
        condition(text, 4, "Accepted", "Accepted", "the listener is accepted");
        condition(text, 4, "Programmed", "Programmed", "the configuration was sent to the data plane");
        condition(text, 4, "ResolvedRefs", "ResolvedRefs", "all references are resolved");
        _ = write!(
            text,
            "    name: {listener}\n    supportedKinds:\n    - group: gateway.networking.k8s.io\n      kind: HTTPRoute\n"
        );
    }
}

fn knative_service(number: usize, text: &mut String) {
    head(text, "serving.knative.dev/v1", "Service", number);
    text.push_str("spec:\n  template:\n    spec:\n");
    indented(text, CONTAINERS, 6);
    text.push_str("  traffic:\n  - latestRevision: true\n    percent: 100\nstatus:\n  conditions:\n");
    for type_ in ["ConfigurationsReady", "Ready", "RoutesReady"] {
        _ = write!(text, "  - lastTransitionTime: \"2025-06-01T08:05:00Z\"\n    status: \"True\"\n    type: {type_}\n");
    }
    _ = write!(
        text,
        r"  address:
    url: http://shop-{number}.shop.svc.cluster.local
  latestCreatedRevisionName: shop-{number}-00003
  latestReadyRevisionName: shop-{number}-00003
  observedGeneration: 3
  traffic:
  - latestRevision: true
    percent: 100
    revisionName: shop-{number}-00003
  url: http://shop-{number}.shop.example.com
"
    );
}

fn database(number: usize, text: &mut String) {
    head(text, "db.example.com/v1", "Database", number);
    text.push_str(
        "spec:\n  backup:\n    retention: 30d\n    schedule: 0 3 * * *\n  instances: 3\n  storage:\n    \
         className: fast\n    size: 200Gi\n  version: \"17.2\"\nstatus:\n  conditions:\n",
    );
    condition(text, 2, "Ready", "AllInstancesReady", "3 of 3 instances answer");
    condition(text, 2, "BackedUp", "BackupFinished", "the last backup ended at 03:12");
    condition(text, 2, "example.com/Encrypted", "KeyFound", "the volume is encrypted with the key of the team");
    text.push_str("  instances:\n");
    for instance in 0..3 {
        _ = write!(text, "  - name: shop-{number}-{instance}\n    role: replica\n    lag: 0\n");
    }
    text.push_str("  observedGeneration: 3\n");
}

fn definition(number: usize, text: &mut String) {
    head(text, "apiextensions.k8s.io/v1", "CustomResourceDefinition", number);
    text.push_str(include_str!("definition.yaml"));
}
