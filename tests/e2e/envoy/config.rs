//! Envoy's configuration: one listener, one route, the rate limit filter.

use std::net::SocketAddr;

use serde_json::{Value, json};

/// What differs from test to test.
#[derive(Clone)]
pub(crate) struct Settings {
    /// What Envoy asks about each request: a list of `config.route.v3.RateLimit`.
    rate_limits: Value,
    /// Where it stands: in the filter's own configuration of the route, or in the route as of old.
    on_route: bool,
    /// More members of the filter.
    filter: Value,
    /// More members of the cluster that our door is.
    cluster: Value,
}

impl Settings {
    /// The filter asks about one descriptor made of these actions.
    pub(crate) fn actions(actions: &Value) -> Self {
        Self::rate_limits(json!([{ "actions": actions }]))
    }

    /// The filter asks about these descriptors.
    pub(crate) fn rate_limits(rate_limits: Value) -> Self {
        Self { rate_limits, on_route: false, filter: json!({}), cluster: json!({}) }
    }

    /// The filter asks about the key in `x-api-key`.
    pub(crate) fn api_key() -> Self {
        Self::actions(&json!([header("x-api-key", "api_key")]))
    }

    /// The same, with the descriptors on the route itself, as most configurations in the world have them.
    pub(crate) fn on_route(mut self) -> Self {
        self.on_route = true;
        self
    }

    /// The same, with a member of the filter.
    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.filter[name] = value;
        self
    }

    /// The same, asking our health service for the word on `ratelimit` ten times a second.
    pub(crate) fn with_health_check(mut self) -> Self {
        self.cluster["health_checks"] = json!([{
            "timeout": "5s",
            "interval": "0.1s",
            "no_traffic_interval": "0.1s",
            "healthy_threshold": 1,
            "unhealthy_threshold": 1,
            "grpc_health_check": { "service_name": "ratelimit" },
        }]);
        self
    }

    fn route(&self) -> Value {
        let mut route = json!({ "match": { "prefix": "/" }, "route": { "cluster": "upstream" } });
        if self.on_route {
            route["route"]["rate_limits"] = self.rate_limits.clone();
        } else {
            let of_filter = json!({ "@type": kind("filters.http.ratelimit.v3.RateLimitPerRoute"), "rate_limits": self.rate_limits });
            route["typed_per_filter_config"] = json!({ "envoy.filters.http.ratelimit": of_filter });
        }
        route
    }

    /// The deadline is far beyond Envoy's own 20 ms: a busy machine must not change what a test sees.
    fn filter(&self) -> Value {
        let filter = json!({
            "@type": kind("filters.http.ratelimit.v3.RateLimit"),
            "domain": "api",
            "timeout": "5s",
            "rate_limit_service": { "transport_api_version": "V3", "grpc_service": { "envoy_grpc": { "cluster_name": "tidegate" } } },
        });
        merge(filter, &self.filter)
    }
}

/// An entry with the value of a header.
pub(crate) fn header(name: &str, key: &str) -> Value {
    json!({ "request_headers": { "header_name": name, "descriptor_key": key } })
}

/// The whole configuration. The client's address is the one that the last of `x-forwarded-for` names.
pub(super) fn whole(door: SocketAddr, upstream: SocketAddr, settings: &Settings) -> Value {
    let manager = json!({
        "@type": kind("filters.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "front",
        "use_remote_address": true,
        "xff_num_trusted_hops": 1,
        "route_config": { "virtual_hosts": [{ "name": "all", "domains": ["*"], "routes": [settings.route()] }] },
        "http_filters": [
            { "name": "envoy.filters.http.ratelimit", "typed_config": settings.filter() },
            { "name": "envoy.filters.http.router", "typed_config": { "@type": kind("filters.http.router.v3.Router") } },
        ],
    });
    let chain = json!({ "filters": [{ "name": "envoy.filters.network.http_connection_manager", "typed_config": manager }] });
    let free = "127.0.0.1:0".parse().unwrap();
    json!({
        "admin": { "address": address(free) },
        "static_resources": {
            "listeners": [{ "name": "front", "address": address(free), "filter_chains": [chain] }],
            "clusters": [cluster("upstream", upstream), door_cluster(door, &settings.cluster)],
        },
    })
}

fn cluster(name: &str, at: SocketAddr) -> Value {
    let endpoint = json!({ "endpoint": { "address": address(at) } });
    json!({
        "name": name,
        "connect_timeout": "5s",
        "load_assignment": { "cluster_name": name, "endpoints": [{ "lb_endpoints": [endpoint] }] },
    })
}

fn door_cluster(at: SocketAddr, more: &Value) -> Value {
    let mut cluster = cluster("tidegate", at);
    let http2 = json!({
        "@type": kind("upstreams.http.v3.HttpProtocolOptions"),
        "explicit_http_config": { "http2_protocol_options": {} },
    });
    cluster["typed_extension_protocol_options"] =
        json!({ "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2 });
    merge(cluster, more)
}

fn merge(mut whole: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        whole[name] = value.clone();
    }
    whole
}

fn address(at: SocketAddr) -> Value {
    json!({ "socket_address": { "address": at.ip().to_string(), "port_value": at.port() } })
}

fn kind(name: &str) -> String {
    format!("type.googleapis.com/envoy.extensions.{name}")
}
