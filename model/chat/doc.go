// Package chat turns a conversation in OpenAI's form into the prompt that a
// model was trained on, with the chat template of the model's own file.
//
// It owns the variables that a template sees. Messages, tools and extra
// arguments stay ordered JSON, so that unknown fields and the order of keys
// reach the template. It promises the text that Hugging Face transformers
// renders for the same input; where the OpenAI form allows what templates do
// not expect, it does the following, and nothing else:
//
//   - Arguments of tool calls that are JSON text are parsed. If the template
//     then fails, and does not when it is given the text, it gets the text:
//     some templates append the arguments to a string.
//   - Content that is a list of text parts is joined with newlines for a
//     template that does not know parts.
//   - Content that is null becomes "" for a template that would print None.
//   - tool_calls that is null or empty is left out.
//   - tools is undefined where there are none; bos_token and eos_token are
//     always strings.
//
// What templates may consist of is said in package jinja. Rendering is bounded
// in time, depth and output.
package chat
