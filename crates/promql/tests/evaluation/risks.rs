//! Queries of our own in the shapes that update graphs have: the tests and the benchmarks ask them.

/// The shapes of queries that decide whether an update is risky, with metrics of our own.
pub(crate) const RISKS: &[&str] = &[
    "max(capability{name=\"Console\"})",
    "1 - max(capability{name=\"Console\"})",
    "max(proxy_enabled{type=~\"https?\"})",
    "group(attachments > 0) or 0 * group(attachments)",
    "0 * group by (invoker) (installer{_id=\"\",invoker=\"hosted\"}) or on () group by (invoker) (installer{_id=\"\"})",
    "(group by (type) (provider{_id=\"\",type=\"Azure\"}) or 0 * group by (type) (provider{_id=\"\"}))",
    "topk(1, group by (vendor, family) (cpu{_id=\"\",vendor=\"A\",family=\"25\"}) or 0 * group by (vendor, family) (cpu{_id=\"\"}))",
    "topk(1, label_replace(group(ceph{_id=\"\"}), \"ceph\", \"yes\", \"\", \"\") or label_replace(0 * group(version{_id=\"\"}), \"ceph\", \"no\", \"\", \"\"))",
    "bottomk(1, 0 * group by (deployment) (replicas{_id=\"\",deployment=\"registry\"} > 0) or group(replicas{_id=\"\"}))",
    "0 * group by (role) (role{_id=\"\",role=\"control\"}) or on () 1 * group by (role) (role{_id=\"\",role=\"main\"}) or on () 0 * topk(1, count by (role) (role{_id=\"\"}))",
    "max(provider{_id=\"\",type=~\"A.*|VSphere\"} or 0 * provider{_id=\"\"}) * (group(topk by (node) (1, update_state{_id=\"\",config!~\"|rendered-.*\"})) or 0 * group(update_state{_id=\"\"}))",
    "label_replace(group by (version) (version{_id=\"\",type=\"initial\",version=~\"4[.][0-9][.].*\"}), \"born\", \"yes, early\", \"\", \"\") or label_replace(0 * group by (version) (version{_id=\"\",type=\"initial\",version!~\"4[.][0-9][.].*\"}), \"born\", \"no, later\", \"\", \"\")",
    "(group by (ipsec) (label_replace(max_over_time(ipsec{_id=\"\"}[1h]), \"ipsec\", \"on\", \"\", \"\") == 1) or on (_id) 0 * group by (ipsec) (label_replace(max_over_time(ipsec{_id=\"\"}[1h]), \"ipsec\", \"off\", \"\", \"\") == 0)) and on (_id) (group by (resource) (max_over_time(objects{_id=\"\",resource=\"nodes\"}[1h]) > 1)) or on (_id) 0 * group(max_over_time(objects{_id=\"\"}[1h]))",
    "topk(1, provider{_id=\"\",type=\"AWS\"} or 0 * provider{_id=\"\"}) * on () group_left (namespace, pod) topk(1, container{_id=\"\",image=~\".*(?:[.]ecr(?:-fips)?[.].*)[/@:].*\"} or on () 0 * topk(1, container{_id=\"\"}))",
    "topk(1, group by (name) (conditions{_id=\"\",name=\"aro\"}) or (0 * group(conditions{_id=\"\"}) + on () group_left (born) topk(1, label_replace(group(version{_id=\"\",type=\"initial\"}), \"born\", \"yes\", \"\", \"\")))) * on () group_left (type) topk(1, provider{_id=\"\",type=\"Azure\"} or 0 * provider{_id=\"\"})",
    "-1 * group(ipsec{_id=\"\"}) or on (_id) group by (_id) (objects{_id=\"\"})",
];
