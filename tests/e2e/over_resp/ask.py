"""Asks the door that speaks the Redis protocol through redis-py: a port, then the password."""

import sys

import redis

port, password = int(sys.argv[1]), sys.argv[2]

for protocol in (2, 3):
    client = redis.Redis(port=port, password=password, protocol=protocol, client_name="ask")
    assert client.ping()
    assert client.client_getname() in ("ask", b"ask")
    key = f"key-{protocol}"
    assert client.execute_command("CL.THROTTLE", key, 1, 1, 3600) == [0, 2, 1, -1, 3600]
    with client.pipeline(transaction=False) as pipeline:
        for number in range(5000):
            pipeline.echo(str(number))
            pipeline.execute_command("CL.THROTTLE", key, 1, 1, 3600)
        replies = pipeline.execute()
    assert [int(echo) for echo in replies[::2]] == list(range(5000))
    assert [reply[0] for reply in replies[1::2]] == [0] + [1] * 4999
    check = client.execute_command("TG.CHECK", "api", "api_key", key)
    assert check[0] == 1 and check[5] == b"per-key" and check[9] is None and check[10] == b"ok", check
    try:
        client.execute_command("TG.CHECK")
    except redis.ResponseError as error:
        assert "wrong number of arguments" in str(error)
    else:
        raise AssertionError("an error was expected")

try:
    redis.Redis(port=port, password="hunter3").ping()
except redis.AuthenticationError:
    pass
else:
    raise AssertionError("the password is wrong")
