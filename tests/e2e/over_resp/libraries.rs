//! Client libraries: Rust's `redis`, and Python's.

use redis::aio::MultiplexedConnection;
use redis::{Client, Value};
use tidegate_rig::Server;
use tokio::process::Command;

use super::{open, open_with};
use crate::folder::Folder;
use crate::patience::within;
use crate::program::{installed, root};

async fn connect(address: &str) -> MultiplexedConnection {
    Client::open(address).unwrap().get_multiplexed_async_connection().await.unwrap()
}

#[tokio::test]
async fn the_redis_crate_asks_in_both_protocols_and_in_pipelines() {
    let (_server, address) = open().await;
    for (key, protocol) in [("two", "resp2"), ("three", "resp3")] {
        let mut connection = connect(&format!("redis://{address}/?protocol={protocol}")).await;
        let mut throttle = redis::cmd("CL.THROTTLE");
        throttle.arg(key).arg(15).arg(30).arg(60);
        let reply: (i64, i64, i64, i64, i64) = throttle.query_async(&mut connection).await.unwrap();
        assert_eq!(reply, (0, 16, 15, -1, 2));
        let mut pipeline = redis::pipe();
        for number in 0..1000 {
            pipeline.cmd("ECHO").arg(number).cmd("CL.THROTTLE").arg(key).arg(15).arg(30).arg(60);
        }
        let replies: Vec<Value> = pipeline.query_async(&mut connection).await.unwrap();
        let echoes = replies.iter().step_by(2);
        for (number, echo) in echoes.enumerate() {
            assert_eq!(*echo, Value::BulkString(number.to_string().into_bytes()));
        }
        let limited =
            replies.iter().filter(|reply| matches!(reply, Value::Array(five) if five[0] == Value::Int(1)));
        assert!(limited.count() >= 980, "15 of them pass, and a few more as time goes by");
    }
}

#[tokio::test]
async fn the_redis_crate_holds_slots_and_gives_them_back() {
    let (_server, address) = open().await;
    let mut connection = connect(&format!("redis://{address}")).await;
    let mut check = redis::cmd("TG.CHECK");
    check.arg("api").arg("path").arg("/export").arg("api_key").arg("k1");
    let held: Vec<Value> = check.query_async(&mut connection).await.unwrap();
    let Some(Value::BulkString(id)) = held.get(9) else { panic!("{held:?}") };
    let refused: Vec<Value> = check.query_async(&mut connection).await.unwrap();
    assert_eq!(refused.first(), Some(&Value::Int(0)));
    for expected in [1, 0] {
        let given_back: i64 = redis::cmd("TG.RELEASE").arg(id).query_async(&mut connection).await.unwrap();
        assert_eq!(given_back, expected);
    }
    let error = redis::cmd("TG.RELEASE").arg("x").query_async::<Value>(&mut connection).await.unwrap_err();
    assert!(error.to_string().contains("32 hexadecimal digits"), "{error}");
}

/// The limit of each reply tells which command it belongs to.
#[tokio::test]
async fn where_counters_are_in_redis_a_pipeline_is_answered_in_its_order_too() {
    let redis = Server::start();
    let settings = [("TIDEGATE_STORE", redis.url()), ("TIDEGATE_REDIS_DEADLINE", "200ms".to_owned())];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (_server, address) = open_with(&settings).await;
    let mut connection = connect(&format!("redis://{address}")).await;
    let mut pipeline = redis::pipe();
    for number in 0..2000 {
        pipeline.cmd("CL.THROTTLE").arg(format!("key-{}", number % 7)).arg(number).arg(1).arg(1);
    }
    let replies: Vec<(i64, i64, i64, i64, i64)> = pipeline.query_async(&mut connection).await.unwrap();
    let limits: Vec<i64> = replies.iter().map(|(_, limit, ..)| *limit).collect();
    assert_eq!(limits, (1..=2000).collect::<Vec<_>>());
    let one = redis::cmd("CL.THROTTLE").arg("alone").arg(0).arg(1).arg(3600).clone();
    for expected in [0, 1] {
        let reply: Vec<i64> = one.query_async(&mut connection).await.unwrap();
        assert_eq!(reply[0], expected);
    }
}

/// It says what is wrong by an exception, and its exit code with it.
#[tokio::test]
async fn redis_py_asks_in_both_protocols_and_with_a_password() {
    let folder = Folder::new();
    let file = folder.path().join("password");
    std::fs::write(&file, "hunter2\n").unwrap();
    let (_server, address) = open_with(&[("TIDEGATE_RESP_PASSWORD_FILE", file.to_str().unwrap())]).await;
    let mut python = Command::new(installed("redis-py/bin/python"));
    python.arg(root().join("tests/e2e/over_resp/ask.py")).arg(address.port().to_string()).arg("hunter2");
    let output = within("its end", python.kill_on_drop(true).output()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
