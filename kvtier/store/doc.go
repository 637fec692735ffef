// Package store is the cold tier of the KV cache and its memory across
// restarts, which are one thing: a block that was written is found again by
// its key. It knows records of bytes and the tokens that they stand for, and
// nothing of layers.
//
//	DIR/                    0700; one process at a time, by a lock
//	  lock
//	  key                   secret of this directory, 0600
//	  NAMESPACE/            HMAC-SHA-256 of a user under the key
//	    sessions/           conversations by name
//	    LAYOUT/             hash of model, KV types, kernels and sizes
//	      info              what the layout is, as JSON
//	      blocks.head       a header for each slot
//	      blocks.data       slots of token blocks
//	      states.head       likewise, for snapshots
//	      states.data
//
// # Records
//
// All records of a table have one size, so a file is an array of slots:
//
//	NAME.head   [ header 0 | header 1 | header 2 | ...        sectors of 512 bytes
//	NAME.data   [ slot 0          | slot 1          | ...     blocks of 4096 bytes
//
//	header, little-endian, zeros where the slot is free:
//	 0   magic "gKV1"        4   kind u16, zero u16
//	 8   sequence number     16  tokens before        24  bytes of data
//	 32  key [32]            64  parent [32]
//	 96  tokens u32          100 pieces u32
//	 104 token ids u32[]     ... CRC-32C of each piece u32[] ... CRC-32C of all before
//
// A record is written in this order: data, sync, header. A slot without a
// valid header is free, so a crash at any point costs records that were being
// written and nothing else. A slot is freed in the opposite order: header
// cleared, sync, hole punched; only then is it used again.
//
// The key of a block is the SHA-256 of the key before it and its tokens; that
// of the first follows from namespace and layout. A key finds candidates; all
// tokens are compared before one is used. A piece is checked against its sum
// whenever it is read.
//
// # Snapshots
//
// What cannot be cut to a prefix (states of recurrent layers, sliding windows,
// and the block that is not full) is kept as of some position, in the second
// table, under a cap of its own.
//
// # Bounds
//
// The cap counts allocated bytes of all namespaces and layouts of the
// directory. The records used longest ago make room; those in use do not.
package store
