"""Sort support tickets without a single label: state what you know, fit, look at what became of it."""

from sklearn.metrics import accuracy_score, f1_score

from tiltfit import TiltClassifier, expect, phrase, regex, word
from tiltfit.demo.tickets import generate, split

train, test = split(generate())

clf = TiltClassifier(
    classes=["billing", "returns", "security", "shipping", "technical"],
    constraints=[
        expect("billing", given=word("invoice") | word("VAT") | word("subscription") | word("voucher")).about(0.8),
        expect("billing", given=word("payment") | word("bank")).between(0.5, 0.7),
        expect("shipping", given=word("parcel") | word("delivery")).about(0.55),
        expect("shipping", given=word("depot") | word("driver") | phrase("tracking number")).about(0.9),
        expect("returns", given=regex(r"\b(return|returned|(send|sent) (it|the \w+) back)\b")).about(0.65),
        expect("returns", given=word("broken") | word("damaged") | word("replacement")).about(0.9),
        expect("technical", given=word("firmware") | word("wifi") | word("error") | word("settings")).about(0.85),
        expect("security", given=word("hacked") | word("phishing") | word("fraud") | word("login")).about(0.85),
        expect("billing", "returns", given=word("refund")).at_least(0.6),
        expect("security").between(0.03, 0.06),
    ],
)
clf.fit(train.texts)  # no labels

predicted = clf.predict(test.texts)
print(f"accuracy {accuracy_score(test.labels, predicted):.3f}")
print(f"macro-F1 {f1_score(test.labels, predicted, average='macro'):.3f}\n")
print(clf.constraint_report_)
