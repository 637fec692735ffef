package chat

// ChatML is a template for models whose file has none. Whether to use it, and
// to say so, is up to the caller: a model not trained on ChatML will answer
// badly.
const ChatML = `{%- for message in messages -%}
{{- '<|im_start|>' ~ message.role ~ '\n' ~ message.content ~ '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\n' -}}
{%- endif -%}
`
