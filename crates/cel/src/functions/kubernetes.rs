//! The functions that Kubernetes adds.

use super::{Declaration, IpClass, Op, SemverPart, UrlPart, global, member};

pub(super) const LISTS: &[Declaration] = &[
    is_sorted("list_int_is_sorted_bool", &["list(int)"]),
    is_sorted("list_uint_is_sorted_bool", &["list(uint)"]),
    is_sorted("list_double_is_sorted_bool", &["list(double)"]),
    is_sorted("list_bool_is_sorted_bool", &["list(bool)"]),
    is_sorted("list_duration_is_sorted_bool", &["list(duration)"]),
    is_sorted("list_timestamp_is_sorted_bool", &["list(timestamp)"]),
    is_sorted("list_string_is_sorted_bool", &["list(string)"]),
    is_sorted("list_bytes_is_sorted_bool", &["list(bytes)"]),
    member("list_int_sum_int", "sum", &["list(int)"], "int", Op::Sum),
    member("list_uint_sum_uint", "sum", &["list(uint)"], "uint", Op::Sum),
    member("list_double_sum_double", "sum", &["list(double)"], "double", Op::Sum),
    member("list_duration_sum_duration", "sum", &["list(duration)"], "duration", Op::Sum),
    member("list_int_max_int", "max", &["list(int)"], "int", Op::Max),
    member("list_uint_max_uint", "max", &["list(uint)"], "uint", Op::Max),
    member("list_double_max_double", "max", &["list(double)"], "double", Op::Max),
    member("list_bool_max_bool", "max", &["list(bool)"], "bool", Op::Max),
    member("list_duration_max_duration", "max", &["list(duration)"], "duration", Op::Max),
    member("list_timestamp_max_timestamp", "max", &["list(timestamp)"], "timestamp", Op::Max),
    member("list_string_max_string", "max", &["list(string)"], "string", Op::Max),
    member("list_bytes_max_bytes", "max", &["list(bytes)"], "bytes", Op::Max),
    member("list_int_min_int", "min", &["list(int)"], "int", Op::Min),
    member("list_uint_min_uint", "min", &["list(uint)"], "uint", Op::Min),
    member("list_double_min_double", "min", &["list(double)"], "double", Op::Min),
    member("list_bool_min_bool", "min", &["list(bool)"], "bool", Op::Min),
    member("list_duration_min_duration", "min", &["list(duration)"], "duration", Op::Min),
    member("list_timestamp_min_timestamp", "min", &["list(timestamp)"], "timestamp", Op::Min),
    member("list_string_min_string", "min", &["list(string)"], "string", Op::Min),
    member("list_bytes_min_bytes", "min", &["list(bytes)"], "bytes", Op::Min),
    member("list_a_index_of_int", "indexOf", &["list(A)", "A"], "int", Op::IndexOf),
    member("list_a_last_index_of_int", "lastIndexOf", &["list(A)", "A"], "int", Op::LastIndexOf),
];

const fn is_sorted(id: &'static str, parameters: &'static [&'static str]) -> Declaration {
    member(id, "isSorted", parameters, "bool", Op::IsSorted)
}

pub(super) const REGEX: &[Declaration] = &[
    member("string_find_string", "find", &["string", "string"], "string", Op::Find),
    member("string_find_all_string", "findAll", &["string", "string"], "list(string)", Op::FindAll),
    member("string_find_all_string_int", "findAll", &["string", "string", "int"], "list(string)", Op::FindAll),
];

pub(super) const URLS: &[Declaration] = &[
    global("string_to_url", "url", &["string"], "url", Op::Url),
    member("url_get_scheme", "getScheme", &["url"], "string", Op::UrlPart(UrlPart::Scheme)),
    member("url_get_host", "getHost", &["url"], "string", Op::UrlPart(UrlPart::Host)),
    member("url_get_hostname", "getHostname", &["url"], "string", Op::UrlPart(UrlPart::Hostname)),
    member("url_get_port", "getPort", &["url"], "string", Op::UrlPart(UrlPart::Port)),
    member("url_get_escaped_path", "getEscapedPath", &["url"], "string", Op::UrlPart(UrlPart::EscapedPath)),
    member("url_get_query", "getQuery", &["url"], "map(string, list(string))", Op::UrlPart(UrlPart::Query)),
    global("is_url_string", "isURL", &["string"], "bool", Op::IsUrl),
];

pub(super) const QUANTITY: &[Declaration] = &[
    global("string_to_quantity", "quantity", &["string"], "quantity", Op::Quantity),
    global("is_quantity_string", "isQuantity", &["string"], "bool", Op::IsQuantity),
    global("quantity_sign", "sign", &["quantity"], "int", Op::Sign),
    member("quantity_is_greater_than", "isGreaterThan", &["quantity", "quantity"], "bool", Op::IsGreaterThan),
    member("quantity_is_less_than", "isLessThan", &["quantity", "quantity"], "bool", Op::IsLessThan),
    member("quantity_compare_to", "compareTo", &["quantity", "quantity"], "int", Op::CompareTo),
    member("quantity_get_float", "asApproximateFloat", &["quantity"], "double", Op::AsApproximateFloat),
    member("quantity_get_int", "asInteger", &["quantity"], "int", Op::AsInteger),
    member("quantity_is_integer", "isInteger", &["quantity"], "bool", Op::IsInteger),
    member("quantity_add", "add", &["quantity", "quantity"], "quantity", Op::QuantityAdd),
    member("quantity_add_int", "add", &["quantity", "int"], "quantity", Op::QuantityAdd),
    member("quantity_sub", "sub", &["quantity", "quantity"], "quantity", Op::QuantitySub),
    member("quantity_sub_int", "sub", &["quantity", "int"], "quantity", Op::QuantitySub),
];

pub(super) const IP: &[Declaration] = &[
    global("string_to_ip", "ip", &["string"], "ip", Op::Ip),
    member("ip_family", "family", &["ip"], "int", Op::IpFamily),
    global("ip_is_canonical", "ip.isCanonical", &["string"], "bool", Op::IpIsCanonical),
    member("ip_is_unspecified", "isUnspecified", &["ip"], "bool", Op::IpIs(IpClass::Unspecified)),
    member("ip_is_loopback", "isLoopback", &["ip"], "bool", Op::IpIs(IpClass::Loopback)),
    member(
        "ip_is_link_local_multicast",
        "isLinkLocalMulticast",
        &["ip"],
        "bool",
        Op::IpIs(IpClass::LinkLocalMulticast),
    ),
    member("ip_is_link_local_unicast", "isLinkLocalUnicast", &["ip"], "bool", Op::IpIs(IpClass::LinkLocalUnicast)),
    member("ip_is_global_unicast", "isGlobalUnicast", &["ip"], "bool", Op::IpIs(IpClass::GlobalUnicast)),
    global("is_ip", "isIP", &["string"], "bool", Op::IsIp),
    global("ip_to_string", "string", &["ip"], "string", Op::ToString),
];

pub(super) const CIDR: &[Declaration] = &[
    global("string_to_cidr", "cidr", &["string"], "cidr", Op::Cidr),
    member("cidr_contains_ip_string", "containsIP", &["cidr", "string"], "bool", Op::ContainsIp),
    member("cidr_contains_ip_ip", "containsIP", &["cidr", "ip"], "bool", Op::ContainsIp),
    member("cidr_contains_cidr_string", "containsCIDR", &["cidr", "string"], "bool", Op::ContainsCidr),
    member("cidr_contains_cidr", "containsCIDR", &["cidr", "cidr"], "bool", Op::ContainsCidr),
    member("cidr_ip", "ip", &["cidr"], "ip", Op::CidrIp),
    member("cidr_prefix_length", "prefixLength", &["cidr"], "int", Op::PrefixLength),
    member("cidr_masked", "masked", &["cidr"], "cidr", Op::Masked),
    global("is_cidr", "isCIDR", &["string"], "bool", Op::IsCidr),
    global("cidr_to_string", "string", &["cidr"], "string", Op::ToString),
];

pub(super) const FORMAT: &[Declaration] = &[
    member("format-validate", "validate", &["format", "string"], "optional(list(string))", Op::FormatValidate),
    global("format-named", "format.named", &["string"], "optional(format)", Op::FormatNamed),
    constant("format.dns1123Label", "dns1123Label"),
    constant("format.dns1123Subdomain", "dns1123Subdomain"),
    constant("format.dns1035Label", "dns1035Label"),
    constant("format.qualifiedName", "qualifiedName"),
    constant("format.dns1123LabelPrefix", "dns1123LabelPrefix"),
    constant("format.dns1123SubdomainPrefix", "dns1123SubdomainPrefix"),
    constant("format.dns1035LabelPrefix", "dns1035LabelPrefix"),
    constant("format.labelValue", "labelValue"),
    constant("format.uri", "uri"),
    constant("format.uuid", "uuid"),
    constant("format.byte", "byte"),
    constant("format.date", "date"),
    constant("format.datetime", "datetime"),
];

const fn constant(function: &'static str, name: &'static str) -> Declaration {
    global(function, function, &[], "format", Op::FormatConstant(name))
}

pub(super) const SEMVER: &[Declaration] = &[
    global("string_to_semver", "semver", &["string"], "semver", Op::Semver),
    global("string_bool_to_semver", "semver", &["string", "bool"], "semver", Op::Semver),
    global("is_semver_string", "isSemver", &["string"], "bool", Op::IsSemver),
    global("is_semver_string_bool", "isSemver", &["string", "bool"], "bool", Op::IsSemver),
    member("semver_is_greater_than", "isGreaterThan", &["semver", "semver"], "bool", Op::IsGreaterThan),
    member("semver_is_less_than", "isLessThan", &["semver", "semver"], "bool", Op::IsLessThan),
    member("semver_compare_to", "compareTo", &["semver", "semver"], "int", Op::CompareTo),
    member("semver_major", "major", &["semver"], "int", Op::SemverPart(SemverPart::Major)),
    member("semver_minor", "minor", &["semver"], "int", Op::SemverPart(SemverPart::Minor)),
    member("semver_patch", "patch", &["semver"], "int", Op::SemverPart(SemverPart::Patch)),
];
