-- What is written down under a key.
return redis.call('GET', KEYS[1])
