package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"gorun/model/chat"
)

// conversation is a chat on a terminal.
type conversation struct {
	w        *writer
	template *chat.Template
	system   string
	messages []chat.Message
	memory   *remembered
}

func newConversation(w *writer, system string, memory *remembered) (*conversation, error) {
	t, own, err := w.m.ChatTemplate()
	if err != nil {
		return nil, err
	}
	if !own {
		slog.Warn("the file has no chat template: using ChatML, which the model may not know")
	}
	c := &conversation{w: w, template: t, system: system, memory: memory}
	c.reset()
	if len(memory.text.Messages) > 0 {
		c.messages = memory.text.Messages
	}
	return c, nil
}

func (c *conversation) reset() {
	c.messages = nil
	if c.system != "" {
		c.messages = append(c.messages, chat.Message{Role: "system", Content: c.system})
	}
}

// ask adds a message of the user and returns the prompt for the answer.
func (c *conversation) ask(text string) ([]int32, error) {
	c.messages = append(c.messages, chat.Message{Role: "user", Content: text})
	messages, err := chat.Encode(c.messages)
	if err != nil {
		return nil, err
	}
	ctx, done := c.w.in.context()
	defer done()
	return c.w.m.ChatPrompt(ctx, c.template, chat.Input{Messages: messages, AddGenerationPrompt: true})
}

const chatHelp = `Type a message and press Enter. A line that ends in \ goes on in the next;
""" begins and ends a message of several lines.
  /reset      forget the conversation
  /save FILE  write the conversation as JSON
  /help       show this
  /exit       leave (or Ctrl-D)
`

// loop talks until the input ends, or the program is asked to.
func (c *conversation) loop() error {
	in := bufio.NewReader(c.w.s.in)
	notes := c.w.s.err
	fmt.Fprintln(notes, "/help shows what else can be typed; /exit leaves.")
	for {
		text, err := c.next(in)
		if text != "" {
			if err := c.turn(text); errors.Is(err, errLeave) {
				return nil
			} else if err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(notes)
			return nil
		}
		if interrupted(err) {
			fmt.Fprintln(notes)
			return err
		}
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
	}
}

// next waits for the next message, or context.Canceled if the program is asked
// to end.
func (c *conversation) next(in *bufio.Reader) (string, error) {
	ended := c.w.in.wait()
	select {
	case <-ended:
		return "", context.Canceled
	default:
	}
	read := make(chan struct{})
	var message string
	var failed error
	go func() {
		message, failed = readMessage(in, c.w.s.err)
		close(read)
	}()
	select {
	case <-ended: // what reads goes with the program
		return "", context.Canceled
	case <-read:
		return message, failed
	}
}

var errLeave = errors.New("leave")

// turn handles one line or message of the user. Only errors that end the chat
// are returned.
func (c *conversation) turn(text string) error {
	notes := c.w.s.err
	command, argument, _ := strings.Cut(text, " ")
	switch command {
	case "/exit", "/quit", "/bye":
		return errLeave
	case "/help", "/?":
		fmt.Fprint(notes, chatHelp)
	case "/reset":
		c.reset()
		fmt.Fprintln(notes, "The conversation is forgotten.")
		return c.memory.said(c.messages)
	case "/save":
		if err := c.save(strings.TrimSpace(argument)); err != nil {
			fmt.Fprintf(notes, "not saved: %v\n", err)
		}
	default:
		return c.answer(text)
	}
	return nil
}

// answer writes the model's answer. A failed turn is taken back, so that the
// next one can be tried.
func (c *conversation) answer(text string) error {
	before := len(c.messages)
	prompt, err := c.ask(text)
	var r result
	if err == nil {
		if c.w.s.term.color {
			c.w.filter = new(thoughts).dim
		}
		r, err = c.w.write(prompt)
		if c.w.s.term.color {
			fmt.Fprint(c.w.s.out, dimOff)
		}
		fmt.Fprintln(c.w.s.out)
	}
	if err != nil && !interrupted(err) {
		c.messages = c.messages[:before]
		fmt.Fprintf(c.w.s.err, "%v\nThe message is taken back; /reset begins anew.\n", err)
		return nil
	}
	return c.answered(r)
}

// answered adds the model's answer, and remembers the conversation.
func (c *conversation) answered(r result) error {
	c.messages = append(c.messages, chat.Message{Role: "assistant", Content: r.Text})
	return c.memory.said(c.messages)
}

// save writes the conversation, in the form that gorun template reads.
func (c *conversation) save(path string) error {
	if path == "" {
		return errors.New("give a file: /save FILE")
	}
	messages := c.messages
	if messages == nil {
		messages = []chat.Message{}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(writeJSON(file, messages), file.Close())
}

// readMessage reads a line, or several as chatHelp says. The error is io.EOF
// with the last message, if it ended in the middle of a line.
func readMessage(in *bufio.Reader, prompt io.Writer) (string, error) {
	fmt.Fprint(prompt, "> ")
	var lines []string
	quoted := false
	for {
		line, err := in.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		switch {
		case !quoted && len(lines) == 0 && strings.HasPrefix(line, `"""`):
			quoted = true
			line = strings.TrimPrefix(line, `"""`)
		}
		body, closed := strings.CutSuffix(line, `"""`)
		more := quoted && !closed
		if quoted && closed {
			line = body
		}
		if rest, ok := strings.CutSuffix(line, `\`); ok && !quoted {
			line, more = rest, true
		}
		lines = append(lines, line)
		if err != nil || !more {
			return strings.TrimSpace(strings.Join(lines, "\n")), err
		}
		fmt.Fprint(prompt, ". ")
	}
}

// thoughts shows what a model thinks, between <think> and </think>, in dim
// letters.
type thoughts struct{ held string }

var thoughtMarks = strings.NewReplacer("<think>", dimOn+"<think>", "</think>", "</think>"+dimOff)

// dim returns what can be shown of the text so far. The beginning of a mark is
// held back.
func (t *thoughts) dim(text string) string {
	text = t.held + text
	keep := 0
	for _, mark := range []string{"<think>", "</think>"} {
		for n := min(len(mark)-1, len(text)); n > keep; n-- {
			if strings.HasSuffix(text, mark[:n]) {
				keep = n
			}
		}
	}
	t.held = text[len(text)-keep:]
	return thoughtMarks.Replace(text[:len(text)-keep])
}
