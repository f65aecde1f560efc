;; The LZ4 block format. The input starts at 0 and the output at $out. Both areas have spare room behind them, so a
;; copy may write a few bytes too many. The next write overwrites those bytes.
(module
  (memory (export "memory") 5 5)
  (global $out i32 (i32.const 0x20000))
  ;; Hash table: where each four-byte sequence was last seen, plus one. 4096 slots of two bytes.
  (global $table i32 (i32.const 0x40000))

  ;; Copies eight bytes at a time. Source and target must be at least eight bytes apart.
  (func $copy (param $from i32) (param $to i32) (param $length i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $to) (local.get $length)))
    (block $done
      (loop $more
        (br_if $done (i32.ge_u (local.get $to) (local.get $end)))
        (i64.store (local.get $to) (i64.load (local.get $from)))
        (local.set $from (i32.add (local.get $from) (i32.const 8)))
        (local.set $to (i32.add (local.get $to) (i32.const 8)))
        (br $more))))

  ;; Writes the part of a length that does not fit into its half of the token. Returns the position after it.
  (func $writeLength (param $write i32) (param $rest i32) (result i32)
    (block $done
      (loop $more
        (br_if $done (i32.lt_u (local.get $rest) (i32.const 255)))
        (i32.store8 (local.get $write) (i32.const 255))
        (local.set $write (i32.add (local.get $write) (i32.const 1)))
        (local.set $rest (i32.sub (local.get $rest) (i32.const 255)))
        (br $more)))
    (i32.store8 (local.get $write) (local.get $rest))
    (i32.add (local.get $write) (i32.const 1)))

  (func $half (param $length i32) (result i32)
    (select (local.get $length) (i32.const 15) (i32.lt_u (local.get $length) (i32.const 15))))

  ;; Writes literals and, unless $match is 0, a match after them. Returns the position after them.
  (func $writeSequence (param $from i32) (param $to i32) (param $write i32) (param $offset i32) (param $match i32) (result i32)
    (local $literals i32) (local $extra i32) (local $token i32)
    (local.set $literals (i32.sub (local.get $to) (local.get $from)))
    (local.set $extra (select (i32.sub (local.get $match) (i32.const 4)) (i32.const 0) (local.get $match)))
    (i32.store8 (local.get $write)
      (i32.or (i32.shl (call $half (local.get $literals)) (i32.const 4)) (call $half (local.get $extra))))
    (local.set $write (i32.add (local.get $write) (i32.const 1)))
    (if (i32.ge_u (local.get $literals) (i32.const 15))
      (then (local.set $write (call $writeLength (local.get $write) (i32.sub (local.get $literals) (i32.const 15))))))
    (call $copy (local.get $from) (local.get $write) (local.get $literals))
    (local.set $write (i32.add (local.get $write) (local.get $literals)))
    (if (i32.eqz (local.get $match)) (then (return (local.get $write))))
    (i32.store16 (local.get $write) (local.get $offset))
    (local.set $write (i32.add (local.get $write) (i32.const 2)))
    (if (i32.ge_u (local.get $extra) (i32.const 15))
      (then (local.set $write (call $writeLength (local.get $write) (i32.sub (local.get $extra) (i32.const 15))))))
    (local.get $write))

  ;; Returns where the match with the bytes $shift earlier ends; never beyond $last.
  (func $matchEnd (param $end i32) (param $shift i32) (param $last i32) (result i32)
    (local $differs i64)
    (loop $words
      (if (i32.le_s (i32.add (local.get $end) (i32.const 8)) (local.get $last))
        (then
          (local.set $differs
            (i64.xor (i64.load (local.get $end)) (i64.load (i32.sub (local.get $end) (local.get $shift)))))
          (if (i64.ne (local.get $differs) (i64.const 0))
            (then
              (return (i32.add (local.get $end)
                (i32.shr_u (i32.wrap_i64 (i64.ctz (local.get $differs))) (i32.const 3))))))
          (local.set $end (i32.add (local.get $end) (i32.const 8)))
          (br $words))))
    (loop $bytes
      (if (i32.lt_s (local.get $end) (local.get $last))
        (then
          (if (i32.eq (i32.load8_u (local.get $end)) (i32.load8_u (i32.sub (local.get $end) (local.get $shift))))
            (then
              (local.set $end (i32.add (local.get $end) (i32.const 1)))
              (br $bytes))))))
    (local.get $end))

  ;; Returns the length of the result at $out. The format requires the last five bytes to be literals, and no match
  ;; may start within the last twelve.
  (func (export "compress") (param $length i32) (result i32)
    (local $read i32) (local $write i32) (local $anchor i32) (local $limit i32)
    (local $here i32) (local $slot i32) (local $candidate i32) (local $end i32)
    (memory.fill (global.get $table) (i32.const 0) (i32.const 8192))
    (local.set $write (global.get $out))
    (local.set $limit (i32.sub (local.get $length) (i32.const 12)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_s (local.get $read) (local.get $limit)))
        (local.set $here (i32.load (local.get $read)))
        (local.set $slot
          (i32.add (global.get $table)
            (i32.shl (i32.shr_u (i32.mul (local.get $here) (i32.const 0x9e3779b1)) (i32.const 20)) (i32.const 1))))
        (local.set $candidate (i32.sub (i32.load16_u (local.get $slot)) (i32.const 1)))
        (i32.store16 (local.get $slot) (i32.add (local.get $read) (i32.const 1)))
        (if (i32.ge_s (local.get $candidate) (i32.const 0))
          (then
            (if (i32.eq (i32.load (local.get $candidate)) (local.get $here))
              (then
                (local.set $end
                  (call $matchEnd
                    (i32.add (local.get $read) (i32.const 4))
                    (i32.sub (local.get $read) (local.get $candidate))
                    (i32.sub (local.get $length) (i32.const 5))))
                (local.set $write
                  (call $writeSequence (local.get $anchor) (local.get $read) (local.get $write)
                    (i32.sub (local.get $read) (local.get $candidate))
                    (i32.sub (local.get $end) (local.get $read))))
                (local.set $read (local.get $end))
                (local.set $anchor (local.get $end))
                (br $next)))))
        ;; The longer the search finds nothing, the larger its steps.
        (local.set $read
          (i32.add (local.get $read)
            (i32.add (i32.const 1) (i32.shr_u (i32.sub (local.get $read) (local.get $anchor)) (i32.const 6)))))
        (br $next)))
    (i32.sub
      (call $writeSequence (local.get $anchor) (local.get $length) (local.get $write) (i32.const 0) (i32.const 0))
      (global.get $out)))

  ;; Returns whether $length input bytes decode to exactly $size bytes at $out. Does not trust its input.
  (func (export "decompress") (param $length i32) (param $size i32) (result i32)
    (local $read i32) (local $write i32) (local $stop i32)
    (local $token i32) (local $count i32) (local $byte i32) (local $offset i32) (local $end i32)
    (local.set $write (global.get $out))
    (local.set $stop (i32.add (global.get $out) (local.get $size)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $read) (local.get $length)))
        (local.set $token (i32.load8_u (local.get $read)))
        (local.set $read (i32.add (local.get $read) (i32.const 1)))
        (local.set $count (i32.shr_u (local.get $token) (i32.const 4)))
        (if (i32.eq (local.get $count) (i32.const 15))
          (then
            (loop $more
              (if (i32.ge_u (local.get $read) (local.get $length)) (then (return (i32.const 0))))
              (local.set $byte (i32.load8_u (local.get $read)))
              (local.set $read (i32.add (local.get $read) (i32.const 1)))
              (local.set $count (i32.add (local.get $count) (local.get $byte)))
              (br_if $more (i32.eq (local.get $byte) (i32.const 255))))))
        (if (i32.gt_u (local.get $count) (i32.sub (local.get $length) (local.get $read))) (then (return (i32.const 0))))
        (if (i32.gt_u (local.get $count) (i32.sub (local.get $stop) (local.get $write))) (then (return (i32.const 0))))
        (call $copy (local.get $read) (local.get $write) (local.get $count))
        (local.set $read (i32.add (local.get $read) (local.get $count)))
        (local.set $write (i32.add (local.get $write) (local.get $count)))
        (br_if $done (i32.eq (local.get $read) (local.get $length)))
        (if (i32.lt_u (i32.sub (local.get $length) (local.get $read)) (i32.const 2)) (then (return (i32.const 0))))
        (local.set $offset (i32.load16_u (local.get $read)))
        (local.set $read (i32.add (local.get $read) (i32.const 2)))
        (local.set $count (i32.add (i32.and (local.get $token) (i32.const 15)) (i32.const 4)))
        (if (i32.eq (local.get $count) (i32.const 19))
          (then
            (loop $more
              (if (i32.ge_u (local.get $read) (local.get $length)) (then (return (i32.const 0))))
              (local.set $byte (i32.load8_u (local.get $read)))
              (local.set $read (i32.add (local.get $read) (i32.const 1)))
              (local.set $count (i32.add (local.get $count) (local.get $byte)))
              (br_if $more (i32.eq (local.get $byte) (i32.const 255))))))
        (if (i32.eqz (local.get $offset)) (then (return (i32.const 0))))
        (if (i32.gt_u (local.get $offset) (i32.sub (local.get $write) (global.get $out))) (then (return (i32.const 0))))
        (if (i32.gt_u (local.get $count) (i32.sub (local.get $stop) (local.get $write))) (then (return (i32.const 0))))
        (local.set $end (i32.add (local.get $write) (local.get $count)))
        (if (i32.ge_u (local.get $offset) (i32.const 8))
          (then (call $copy (i32.sub (local.get $write) (local.get $offset)) (local.get $write) (local.get $count)))
          (else
            (loop $each
              (i32.store8 (local.get $write) (i32.load8_u (i32.sub (local.get $write) (local.get $offset))))
              (local.set $write (i32.add (local.get $write) (i32.const 1)))
              (br_if $each (i32.lt_u (local.get $write) (local.get $end))))))
        (local.set $write (local.get $end))
        (br $next)))
    (i32.eq (local.get $write) (local.get $stop))))
