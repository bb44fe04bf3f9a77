      -- Charge number _n of the lean script, if there are so many and none before it was refused. It is written out for each,
      -- because a call of a function costs as much as the sums.
      if done and count >= _n then
        local expires
        if own_n < SECOND_KIND then
          -- A meter: units, their mark, and the time in which they drain.
          local old = since_n + span_n
          if old > before then
            before = old
          end
          if old <= now or since_n > now + 1000000 then
            used_n, since_n, part_n = 0, now, 0
          else
            if part_n >= units_n then
              since_n, part_n = since_n + 1, 0
            end
            local parts = (now - since_n) * units_n - part_n
            if parts >= 9007199254740992 then
              done = nil
            elseif parts >= per_n then
              local drained = (parts - parts % per_n) / per_n
              if drained >= used_n then
                used_n, since_n, part_n = 0, now, 0
              elseif units_n == 1 then
                used_n, since_n = used_n - drained, since_n + drained * per_n
              else
                parts = drained * per_n + part_n
                used_n, part_n = used_n - drained, parts % units_n
                since_n = since_n + (parts - part_n) / units_n
              end
            end
          end
          used_n = used_n + cost_n
          if done and used_n > most_n then
            done = false
          end
          span_n = used_n * per_n
          if units_n > 1 then
            span_n = span_n + part_n
            local rest = span_n % units_n
            span_n = (span_n - rest) / units_n
            if rest > 0 then
              span_n = span_n + 1
            end
          end
          expires = since_n + span_n
        else
          -- A window: units, its beginning, and its length with the units of the window before it, if that counts.
          local time, start, newest, oldest = now, nil, 0, 0
          local old = own_n < FIFTH_KIND and since_n + per_n or since_n + 2 * per_n
          if old > before then
            before = old
          end
          if bytes > 0 and since_n <= now + 1000000 then
            if time < since_n then
              time = since_n
            end
            if units_n == 1 then
              start = time < since_n + per_n and since_n or time
            else
              start = time - time % per_n
            end
            if own_n < FIFTH_KIND then
              newest = since_n >= start and used_n or 0
            elseif since_n == start then
              newest, oldest = used_n, part_n + span_n % 256 * 65536
            elseif since_n + per_n == start then
              oldest = used_n
            end
          elseif units_n == 1 then
            start = time
          else
            start = time - time % per_n
          end
          local used = newest + cost_n
          if oldest > 0 then
            local parts = oldest * (per_n - (time - start))
            if parts >= 9007199254740992 then
              done = nil
            end
            local rest = parts % per_n
            used = used + (parts - rest) / per_n
            if rest > 0 then
              used = used + 1
            end
          end
          if done and used > most_n then
            done = false
          end
          used_n, since_n = newest + cost_n, start
          if own_n >= FIFTH_KIND then
            part_n = oldest % 65536
            span_n = (oldest - part_n) / 65536 + per_n * 256
            expires = start + 2 * per_n
          else
            part_n = per_n % 65536
            span_n = (per_n - part_n) / 65536
            expires = start + per_n
          end
        end
        if expires > last then
          last = expires
        end
      end
