// Package jinja renders the chat templates that GGUF files carry in
// tokenizer.chat_template.
//
// It owns a lexer, a parser and an evaluator for the part of Jinja2 3.1 that
// such templates use, with the settings under which Hugging Face transformers
// renders them: trim_blocks and lstrip_blocks, no autoescaping, loop controls,
// generation blocks, raise_exception, strftime_now, a tojson that escapes
// neither HTML nor non-ASCII text and keeps the order of keys, and the
// immutable sandbox (templates cannot change lists and dicts; underscored
// attributes are out of reach). Values behave as Python's: str and repr of
// numbers, the operands that and/or return, one-shot generators of map and
// select, Markup strings that escape what is added to them, text indexed by
// code point.
//
// It promises that Parse and Render return errors that name the template and
// the line and never panic, and that a hostile template is bounded: see
// [Limits].
//
// Statements: if, for (else, filter, recursive, unpacking), set (also as a
// block, and attributes of a namespace), macro, call, filter, with, raw,
// print, break, continue, generation. Expressions, tests and filters: those of
// Jinja2 3.1, except the ones below.
//
// Deviations from Jinja2:
//   - extends, block, include, import, from, autoescape and do are refused.
//   - the filters random, pprint, urlize, xmlattr, wordwrap and filesizeformat,
//     the global lipsum and str.encode, str.translate and str.maketrans do not
//     exist.
//   - map, select, batch and the like work on all items when the first is wanted,
//     not on one after the other.
//   - integers are limited to 16384 bits, and powers never become complex.
//   - the names and, or, not, in, is, if, else cannot be used as variables.
//   - an unknown filter or test anywhere inside an if is reported when it is
//     reached, elsewhere by Parse.
package jinja
