"""A loop in Python's standard library alone. Perdure keeps its session, its context and its calls.

    PERDURE_URL=http://127.0.0.1:4730 PERDURE_KEY=pdk_... python3 examples/python-loop.py [SESSION]

After a crash, run it again with the id of the session: the model learns of the refund and does not repeat it.
"""
import json
import os
import sys
import urllib.request


def send(url, body=None, method=None, key=None):
    headers = {"content-type": "application/json"}
    if key:
        headers["authorization"] = "Bearer " + key
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
        return json.loads(answer.read() or "null")


def perdure(path, body=None):
    return send(os.environ["PERDURE_URL"] + "/v1/sessions" + path, body, key=os.environ["PERDURE_KEY"])


def refund(order):
    """The effect that must happen once. A real tool would call a payment service here."""
    if "PAYMENTS_URL" in os.environ:
        send(os.environ["PAYMENTS_URL"] + "/" + order, {})
    return "refunded " + order


def model(messages):
    """Replaces a model: it asks for the refund, and answers when it learns what became of it."""
    results = [part for message in messages if message["role"] == "tool" for part in message["content"]]
    if results:
        return {"text": "The refund is %s: %s" % (results[-1]["outcome"], results[-1]["output"])}
    return {"call": {"tool": "refund", "input": {"order": "A1"}, "callId": "refund-1"}}


session = sys.argv[1] if len(sys.argv) > 1 else perdure("", {"title": "A loop in Python"})["id"]
print("session", session, flush=True)
if not perdure("/%s/context" % session)["messages"]:
    perdure("/%s/messages" % session, {"messages": [{"role": "user", "content": "Refund order A1."}]})
fence = {}  # the token that this loop shows from its second call on
while True:
    answer = model(perdure("/%s/context" % session)["messages"])
    if "text" in answer:
        break
    call = answer["call"]
    begun = perdure("/%s/tool-calls" % session, {**call, "effects": "once", **fence})
    fence = {"token": begun["token"]}
    try:
        end = {"output": refund(**call["input"])}
    except Exception as error:
        end = {"error": {"name": type(error).__name__, "message": str(error)}}
    perdure("/%s/tool-calls/%s/end" % (session, begun["callId"]), {**fence, **end})
perdure("/%s/messages" % session, {"messages": [{"role": "assistant", "content": answer["text"]}]})
print(answer["text"])
