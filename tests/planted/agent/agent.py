#!/usr/bin/env python3
"""gull: a small terminal coding agent, with eight defects that can be switched on.

    agent.py [--resume ID] [--store jsonl|json] [--tui] PROMPT

It streams answers of the Messages API, runs the tool `Bash` (tool uses of one answer run at once), keeps its session below ~/.gull/sessions,
resumes a session, and asks again after 429, 5xx, a lost connection and an error in the stream. SIGINT, SIGTERM and SIGHUP end the turn: commands
are stopped, what came is kept, the exit code is 128 and the signal's number. With `--tui` it stays at a terminal: ESC or ^C cancel a turn, ^C or
^D at the prompt end it.

With GULL_SHOWS it prints what commands printed.

The variable PLANTED names one switch, or several with commas. Without it nothing is wrong. The first variant of each is what `NAME` alone means.

cancelled  the result of a command that was cancelled
    .ok        is recorded as a success, with what it had printed        .denied  says that the command was not run
    .open      is not recorded at all                                    .blank   is empty, and no error
    .rerun     is that of a second run: a resumed session runs the command again
file       the session on disk
    .late      gets the prompt only with the first answer                .torn    is cut short by a signal while a command runs
    .resumed   does not get the prompt of a resumed run                  .forked  is a new one for each resumed run, without what was before
    .doubled   gets everything again when the session is resumed
partial    the part of an answer that came before a signal
    .twice     is saved twice                                            .joined  is saved with its text doubled
    .call      is saved with a tool use that was not whole, as if it had been asked for with no input
retry      a request that is sent again
    .dropped   lacks the last message                                    .blank   has no text in its results
    .half      has the first of its results alone                        .deaf    follows although a signal came during the wait
child      a command
    .later     survives a signal that comes 0.8 s or more after its start
    .shell     is stopped, but not what it started                       .term    survives SIGTERM
    .alone     survives a signal that went to the agent alone            .waited  is not stopped: the agent waits for its end
exit       the exit code
    .midstream is 0 after an error in the stream, with the part that came as the answer
    .cut       is 0 after a connection that was cut                      .refused is 0 after an error with a status of 4xx
    .signal    is 0 after a signal                                       .resumed is 1 after a resumed run that was answered
parallel   the results of parallel tool uses
    .swapped   are put to the tool uses in the order in which they ended .shared  each have the output of all
    .one       are lost but for the first one, when a signal comes  .empty   have no text but for the first one
    .kept      have no text in the session on disk but for the first one
output     the text
    .doubled   is printed again for each attempt that broke off in it    .tail    lacks its end when an answer has no tool use
    .silent    is not printed after a signal: the result line is missing
    .again     is printed twice for each attempt that broke off in it
"""
import http.client, json, os, select, signal, subprocess, sys, termios, threading, time, tty, urllib.parse, uuid

PLANTED = {name if "." in name else name + "." + first for name in os.environ.get("PLANTED", "").split(",") if name
           for first in [{"cancelled": "ok", "file": "late", "partial": "twice", "retry": "dropped", "child": "later", "exit": "midstream",
                          "parallel": "swapped", "output": "doubled"}[name.split(".")[0]]]}
TOOLS = [{"name": "Bash", "description": "Runs a shell command.",
          "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}]


def planted(name):
    return name in PLANTED


class Failure(Exception):
    """The API failed; `again`: another attempt may help; `part`: the blocks that came."""

    def __init__(self, text, again=False, part=(), wait=None, kind="status"):
        super().__init__(text)
        self.again, self.part, self.wait, self.kind = again, list(part), wait, kind


class Session:
    """The messages, and their file: a line each, or one document."""

    def __init__(self, store, resumed):
        self.store, self.id, self.messages, self.parent, self.held = store, resumed or str(uuid.uuid4()), [], None, []
        self.folder = os.path.expanduser("~/.gull/sessions")
        os.makedirs(self.folder, exist_ok=True)
        if resumed and os.path.exists(self.path()):
            self.load()
        if resumed and planted("file.forked"):
            self.id = str(uuid.uuid4())
        elif not planted("cancelled.open") and not planted("cancelled.rerun"):
            self.repair()
        if resumed and planted("file.doubled"):
            for message in self.messages:
                self.write(message)

    def path(self):
        return f"{self.folder}/{self.id}.{self.store}"

    def load(self):
        with open(self.path()) as file:
            try:
                if self.store == "json":
                    self.messages = [{"role": one["role"], "content": one["content"]} for one in json.load(file)["messages"]]
                    return
                for line in file:
                    entry = json.loads(line)
                    self.messages.append(entry["message"])
                    self.parent = entry["uuid"]
            except ValueError:
                say({"type": "warning", "text": "the session cannot be read as a whole"})

    def repair(self):
        """Answers the tool uses that a killed run left open."""
        if self.messages and self.messages[-1]["role"] == "assistant":
            uses = [block for block in self.messages[-1]["content"] if block["type"] == "tool_use"]
            if uses:
                text = "The session was killed; whether this command was run, and how far, is not known."
                self.add("user", [result_of(use, text, True) for use in uses])

    def add(self, role, content, hold=False):
        self.messages.append({"role": role, "content": content})
        self.held.append(self.messages[-1])
        if hold:
            return
        for message in self.held:
            self.write(message)
        self.held = []

    def write(self, message):
        if planted("parallel.kept"):
            results = [one for one in message["content"] if one["type"] == "tool_result"]
            message = dict(message, content=[dict(one, content="") if one in results[1:] else one for one in message["content"]])
        if self.store == "json":
            with open(self.path() + ".new", "w") as file:
                json.dump({"version": 1, "sessionId": self.id, "messages": self.messages}, file)
            os.replace(self.path() + ".new", self.path())
            return
        entry = {"type": message["role"], "uuid": str(uuid.uuid4()), "parentUuid": self.parent, "sessionId": self.id, "cwd": os.getcwd(),
                 "message": message}
        self.parent = entry["uuid"]
        with open(self.path(), "a") as file:
            file.write(json.dumps(entry) + "\n")

    def tear(self):
        with open(self.path(), "r+") as file:
            file.truncate(max(0, os.path.getsize(self.path()) - 40))


class Command:
    """A shell command in a group of its own."""

    def __init__(self, use):
        self.use, self.started, self.ended, self.stopped, self.survives = use, time.monotonic(), None, False, False
        self.process = subprocess.Popen(["/bin/sh", "-c", use["input"].get("command", "true")], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=not planted("child.alone"))
        self.output, self.thread = b"", threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while piece := os.read(self.process.stdout.fileno(), 65536):
            self.output += piece
        self.process.wait()
        self.ended = time.monotonic()

    def stop(self, number):
        if self.ended:
            return
        self.stopped = True
        self.survives = (planted("child.later") and time.monotonic() - self.started >= 0.8 or planted("child.term") and number == signal.SIGTERM
                         or planted("child.alone"))
        if self.survives or planted("child.waited"):
            return
        try:
            if planted("child.shell"):
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def result(self):
        text = self.output.decode(errors="replace").strip()
        if not self.stopped:
            code = self.process.returncode
            return result_of(self.use, text or "(no output)", False) if code == 0 else result_of(self.use, f"{text}\nexit code {code}".strip(), True)
        if planted("cancelled.ok"):
            return result_of(self.use, text or "(no output)", False)
        if planted("cancelled.denied"):
            return result_of(self.use, "The user declined this tool use. The command was not run.", True)
        if planted("cancelled.blank"):
            return result_of(self.use, "", False)
        return result_of(self.use, f"The user interrupted this command while it was running. Its output until then:\n{text}", True)


def result_of(use, text, is_error):
    return {"type": "tool_result", "tool_use_id": use["id"], "content": text, "is_error": is_error}


def say(line):
    print(json.dumps(line), flush=True)


class Agent:
    def __init__(self, session, tui):
        self.session, self.tui, self.number, self.connection, self.commands = session, tui, None, None, []
        self.wake_read, self.wake_write = os.pipe()
        signal.signal(signal.SIGINT, self.on_signal)
        signal.signal(signal.SIGTERM, self.on_signal)
        signal.signal(signal.SIGHUP, self.on_signal)

    def on_signal(self, number, _frame=None):
        self.number = self.number or number
        os.write(self.wake_write, b"!")
        for command in self.commands:
            command.stop(number)
        if self.connection and self.connection.sock:
            try:
                self.connection.sock.shutdown(2)
            except OSError:
                pass

    def nap(self, seconds):
        if not planted("retry.deaf"):
            return select.select([self.wake_read], [], [], seconds)
        time.sleep(seconds)
        self.number = None

    def stream(self, messages, attempt):
        """One attempt: the blocks of an answer. A block that is not whole has `open`."""
        base = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
        body = {"model": "claude-sonnet-4-5", "max_tokens": 8000, "stream": True, "system": "You are gull, a coding agent.", "tools": TOOLS,
                "messages": messages}
        blocks, ended = [], False
        self.connection = http.client.HTTPConnection(base.hostname, base.port, timeout=60)
        try:
            self.connection.request("POST", "/v1/messages", json.dumps(body), {"content-type": "application/json", "anthropic-version": "2023-06-01",
                                                                                "x-api-key": os.environ.get("ANTHROPIC_API_KEY", "none")})
            response = self.connection.getresponse()
            if response.status != 200:
                text = response.read().decode(errors="replace")
                wait = response.headers.get("retry-after")
                again = response.status in (408, 409, 429) or response.status >= 500
                raise Failure(f"{response.status} {text}", again, wait=float(wait) if wait else None)
            while line := response.readline():
                if not line.startswith(b"data:"):
                    continue
                event = json.loads(line[5:])
                kind = event["type"]
                if kind == "content_block_start":
                    blocks.append(dict(event["content_block"], open="", index=event["index"]))
                elif kind == "content_block_delta":
                    delta = event["delta"]
                    if delta["type"] == "text_delta":
                        blocks[-1]["text"] += delta["text"]
                    elif delta["type"] == "input_json_delta":
                        blocks[-1]["open"] += delta["partial_json"]
                elif kind == "content_block_stop":
                    given = blocks[-1].pop("open")
                    if blocks[-1]["type"] == "tool_use":
                        blocks[-1]["input"] = json.loads(given or "{}")
                elif kind == "message_stop":
                    ended = True
                elif kind == "error":
                    raise Failure(f"in the stream: {event['error'].get('message')}", True, blocks, kind="midstream")
        except (OSError, http.client.HTTPException, ValueError) as error:
            if ended:
                return blocks
            raise Failure(f"the connection was lost: {error!r}", True, blocks, kind="cut") from error
        finally:
            self.connection.close()
            self.connection = None
        if not ended:
            raise Failure("the answer ended before its end", True, blocks, kind="cut")
        return blocks

    def answer(self):
        """The answer, after as many attempts as it needs."""
        messages = self.session.messages
        for attempt in range(4):
            try:
                return self.stream(messages, attempt)
            except Failure as failure:
                if self.number or not failure.again or attempt == 3:
                    raise
                for _ in range(planted("output.doubled") + 2 * planted("output.again")):
                    self.print_texts(failure.part)
                if planted(f"exit.{failure.kind}") and failure.part:
                    return [block for block in failure.part if block["type"] == "text"]
                self.nap(failure.wait if failure.wait is not None else 0.2 * 2 ** attempt)
                if self.number:
                    raise Failure("interrupted") from failure
                messages = self.again(messages)

    def again(self, messages):
        """What the next attempt sends."""
        last = messages[-1]
        if planted("retry.dropped") and len(messages) > 2:
            return messages[:-2]
        if planted("retry.blank"):
            return messages[:-1] + [dict(last, content=[dict(one, content="") if one["type"] == "tool_result" else one for one in last["content"]])]
        if planted("retry.half"):
            return messages[:-1] + [dict(last, content=last["content"][:1])]
        return messages

    def print_texts(self, blocks):
        for block in blocks:
            if block["type"] == "text" and block["text"]:
                cut = planted("output.tail") and not any(one["type"] == "tool_use" for one in blocks)
                say({"type": "text", "session": self.session.id, "text": block["text"][:-4] if cut else block["text"]})

    def keep(self, part):
        """Saves the part of an answer that a signal broke off; tool uses that are whole are answered."""
        blocks = []
        for block in part:
            block.pop("index", None)
            opened = block.pop("open", None)
            if block["type"] == "text" and block["text"]:
                blocks.append(block)
            elif block["type"] == "tool_use" and (opened is None or planted("partial.call")):
                blocks.append(block)
        if not blocks:
            return
        self.print_texts(blocks)
        if planted("partial.joined"):
            blocks = [dict(block, text=block["text"] * 2) if block["type"] == "text" else block for block in blocks]
        self.session.add("assistant", blocks)
        uses = [block for block in blocks if block["type"] == "tool_use"]
        if uses:
            self.session.add("user", [result_of(use, "The user interrupted before this command was run.", True) for use in uses])
        elif planted("partial.twice"):
            self.session.add("assistant", blocks)

    def run(self, uses):
        """Runs the tool uses at once, and returns their results."""
        held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        self.commands = [Command(use) for use in uses] if not self.number else []
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        if not self.commands:
            return [result_of(use, "The user interrupted before this command was run.", True) for use in uses]
        for command in self.commands:
            while command.thread.is_alive() and not (self.number and (command.process.poll() is not None or command.survives)):
                command.thread.join(0.05)
        results = [command.result() for command in self.commands]
        if os.environ.get("GULL_SHOWS"):
            for result in results:
                say({"type": "tool", "text": result["content"]})
        if planted("parallel.swapped"):
            ended = sorted(self.commands, key=lambda command: command.ended or time.monotonic())
            results = [dict(command.result(), tool_use_id=use["id"]) for use, command in zip(uses, ended)]
        if planted("parallel.shared"):
            results = [dict(one, content="\n".join(other["content"] for other in results)) for one in results]
        if planted("parallel.empty"):
            results = results[:1] + [dict(one, content="") for one in results[1:]]
        if self.number and planted("parallel.one"):
            results = results[:1] + [dict(one, content="(lost)") for one in results[1:]]
        self.commands = []
        return results

    def turn(self, prompt):
        """One prompt, to its end. Returns the exit code."""
        content, before = [{"type": "text", "text": prompt}], self.session.messages[-1:]
        if planted("cancelled.rerun") and before and before[0]["role"] == "assistant":
            uses = [block for block in before[0]["content"] if block["type"] == "tool_use"]
            if uses:
                self.session.add("user", self.run(uses))
        resumed = bool(before)
        if planted("file.resumed") and self.session.messages:
            self.session.messages.append({"role": "user", "content": content})
        else:
            self.session.add("user", content, hold=planted("file.late") and not self.session.messages)
        try:
            while not self.number:
                blocks = self.answer()
                for block in blocks:
                    block.pop("index", None)
                self.session.add("assistant", blocks)
                self.print_texts(blocks)
                uses = [block for block in blocks if block["type"] == "tool_use"]
                if not uses:
                    return self.end("success", 1 if planted("exit.resumed") and resumed else 0)
                results = self.run(uses)
                if not (self.number and (planted("cancelled.open") or planted("cancelled.rerun"))):
                    self.session.add("user", results)
                if self.number and planted("file.torn"):
                    self.session.tear()
        except Failure as failure:
            if not self.number:
                say({"type": "error", "text": str(failure)})
                return self.end("error", 0 if planted("exit.refused") and str(failure)[:1] == "4" else 1)
            self.session.messages = [one for one in self.session.messages if one not in self.session.held]
            self.session.held = []
            self.keep(failure.part)
        return self.end("interrupted", 0 if planted("exit.signal") else 128 + self.number)

    def end(self, how, code):
        if not (how == "interrupted" and planted("output.silent")):
            say({"type": "result", "how": how, "session": self.session.id})
        return code

    def chat(self, prompt):
        """Turns at a terminal, until ^C or ^D at the prompt."""
        lines, before = [prompt], termios.tcgetattr(0)
        tty.setcbreak(0)
        threading.Thread(target=self.keys, args=(lines,), daemon=True).start()
        try:
            while True:
                while not lines and not self.number:
                    select.select([self.wake_read], [], [], 0.2)
                    os.set_blocking(self.wake_read, False)
                    try:
                        os.read(self.wake_read, 4096)
                    except BlockingIOError:
                        pass
                if self.number or lines[0] is None:
                    return 128 + self.number if self.number else 0
                self.turn(lines.pop(0))
                if self.number in (signal.SIGTERM, signal.SIGHUP):
                    return 128 + self.number
                self.number = None
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, before)

    def keys(self, lines):
        line = ""
        while key := os.read(0, 1):
            if key == b"\x1b":
                if self.connection or self.commands:
                    self.on_signal(signal.SIGINT)
            elif key == b"\x04":
                lines.append(None)
                os.write(self.wake_write, b"!")
            elif key in b"\r\n":
                lines.append(line)
                line = ""
                os.write(self.wake_write, b"!")
            else:
                line += key.decode(errors="replace")
        lines.append(None)


def main(words):
    store, resumed, tui = "jsonl", None, False
    while words and words[0].startswith("--"):
        word = words.pop(0)
        if word == "--tui":
            tui = True
        elif word == "--store":
            store = words.pop(0)
        elif word == "--resume":
            resumed = words.pop(0)
    agent = Agent(Session(store, resumed), tui)
    say({"type": "start", "session": agent.session.id})
    return agent.chat(words[0]) if tui else agent.turn(words[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
