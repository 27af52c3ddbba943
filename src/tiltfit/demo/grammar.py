"""The grammar of the support tickets: what customers of *Halden & Pike*, a fictional shop, write about.

``{name}`` stands for one of ``PHRASES["name"]``.
A ticket has one *issue*. Of its sentences, ``says`` state the problem, ``adds`` give details and ``asks``
say what the customer wants; ``COMMON`` are details that fit every issue of a class. Everything here is made up; add phrases freely, but the demo's numbers change.
"""

from __future__ import annotations

from typing import Final, TypedDict


class Issue(TypedDict):
    """Sentences of one kind of problem."""

    says: tuple[str, ...]
    adds: tuple[str, ...]
    asks: tuple[str, ...]


SHARES: Final[dict[str, float]] = {
    "billing": 0.22,
    "returns": 0.18,
    "security": 0.045,
    "shipping": 0.255,
    "technical": 0.30,
}

# One for each ticket: its {product}, and its {thing}, the last word of it.
PRODUCTS: Final = (
    "Marlo speaker", "Dusty robot vacuum", "Glim desk lamp", "Brevio coffee machine", "Kelda thermostat",
    "Sorrel radio", "Knock doorbell", "Pebble kitchen scale", "Tarn kettle", "Wick night light",
)  # fmt: skip

PHRASES: Final[dict[str, tuple[str, ...]]] = {
    # things
    "item": ("{product}", "{product}", "{thing}", "order", "present for my {relative}"),
    "part": ("cover", "power cable", "charging dock", "stand", "handle", "remote", "switch", "plug"),
    "relative": ("mother", "father", "sister", "husband", "wife", "daughter", "neighbour", "grandson"),
    "colour": ("black", "white", "copper", "sage green", "sand", "navy"),
    "digit": ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
    "order": ("HP-{digit}{digit}{digit}{digit}{digit}", "number 4{digit}{digit}{digit}{digit}"),
    "amount": ("£{digit}9.99", "£1{digit}.50", "£{digit}5", "2{digit} pounds", "€8{digit}"),
    "firstname": ("Ana", "Tom", "Priya", "Lars", "Mei", "Joe", "Fatima", "Greta", "Sam", "Olek", "Nuria", "Ben"),
    "surname": ("Whitlow", "Okafor", "Lind", "Marsh", "Petrov", "Sato", "Byrne", "Castell", "Novak", "Reyes"),
    # times
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "month": ("January", "March", "April", "June", "September", "November"),
    "ago": ("yesterday", "last {day}", "two weeks ago", "in {month}", "a few days ago", "this morning", "on {day}"),
    "since": ("since {day}", "for a week now", "for ten days", "since {month}", "for three days", "for ages"),
    # people
    "greeting": ("Hi,", "Hello,", "Dear team,", "Good morning,", "Hi there,", "To whom it may concern,", "Hey", ""),
    "closing": ("Thanks", "Thank you", "Kind regards", "Best", "Regards", "Cheers", "Many thanks", ""),
    "signature": ("{firstname}", "{firstname} {surname}", "{firstname}\n(sent from my phone)", "F. {surname}", ""),
    "mood": (
        "I have been a customer for years and this is disappointing.", "Sorry to bother you with this.",
        "I am quite annoyed by now.", "First of all, I love your shop!", "This is the third time I write.",
        "Not sure if this is the right place to ask.", "This is urgent.", "I am really not impressed.",
        "You usually do a great job, so I hope this is quickly solved.", "Honestly this is getting ridiculous.",
    ),
    "context": (
        "I bought a {product} from you {ago}.", "This is about order {order}.", "My order is {order}.",
        "I ordered a {thing} on your website {ago}.", "We own a {product}, bought {ago}.",
        "It is about the {product} I got as a present.", "I have an account with you since {month}.",
        "Your colleague told me to write to this address.", "I called {ago} but nobody picked up the phone.",
    ),
    "filler": (
        "I attach a screenshot.", "I attach a photo.", "I could not find anything about it in your FAQ.",
        "The chat on the website was no help.", "My {relative} says the same.", "I work during the day, so email is best.",
        "You can also call me after six.", "The {product} itself is lovely, by the way.",
        "I paid {amount} for it, so I expect more.", "I did read the terms on your website.",
        "The order confirmation came by email as usual.", "It was a present for my {relative}.",
        "A friend had the same and you sorted it out within a day.", "Please do not send me a standard answer.",
    ),
    "ask": (
        "Please help.", "Can you look into this?", "What should I do now?", "Please get back to me soon.",
        "Could somebody check this for me?", "I am waiting for your answer.", "How do we solve this?",
        "Please advise.", "Let me know what you need from me.",
    ),
    "vague": (
        "Is there any news on my request?", "I wrote {ago} and have not heard back.", "I still have the same problem.",
        "It happened again {ago}.", "As discussed on the phone, I am writing it down here.", "See my last message.",
    ),
    "subject": ("Question", "Help", "Order {order}", "{product}", "Problem", "Complaint", "Urgent", "Request", "Re: your order"),
    "reply": (
        "Thank you for contacting Halden & Pike. Your request has been passed to the right team.",
        "Thank you for your patience. Could you send us your order number and a photo?",
        "Most questions about delivery and refund are answered in our app. Did you have a look there?",
        "We are sorry for the trouble. Has a reset helped? You find the manual and the warranty terms on our website.",
        "Please never send us your password, nor the numbers of your card or bank account.",
        "We are sorry to hear that. A colleague will call you within two working days.",
    ),
}  # fmt: skip

BILLING: Final[dict[str, Issue]] = {
    "charged twice": {
        "says": (
            "I was charged twice for the same {item}.", "You took {amount} from my card two times.",
            "There are two payments of {amount} on my bank statement.", "I have been overcharged by {amount}.",
            "The same amount left my bank account twice {ago}.", "I paid once but was billed double.",
        ),
        "adds": (
            "My bank says both payments went through.", "I only placed one order.", "The statement shows it {ago}.",
            "One of the two transactions must be a mistake.", "I paid with a credit card.",
        ),
        "asks": ("Please give me a refund of the second payment.", "Please correct the amount.", "I want the extra money back."),
    },
    "invoice": {
        "says": (
            "I need an invoice for my tax return.", "The invoice shows the wrong company name.",
            "The VAT number is missing on the invoice.", "I never got a receipt for the {item}.",
            "My accountant needs a proper receipt with the VAT.", "The total on the bill does not add up.",
        ),
        "adds": (
            "Our accounting closes at the end of {month}.", "The delivery note is not enough for them.",
            "The tax office does not accept the order confirmation.", "The amount should be {amount} before tax.",
        ),
        "asks": ("Please send a corrected one as PDF.", "Could you email me the invoice?", "Can you issue it again with the VAT?"),
    },
    "subscription": {
        "says": (
            "I cancelled my coffee subscription {ago} but you still take {amount} every month.",
            "The subscription was renewed without asking me.", "My monthly plan costs more than before.",
            "I want to cancel the premium plan before it renews.", "The free trial turned into a paid plan.",
        ),
        "adds": (
            "I cannot find the cancel button in the app.", "The monthly fee was {amount} when I signed up.",
            "Nobody told me the price would go up.", "The next payment is due on {day}.",
        ),
        "asks": ("Please end the plan now.", "Please refund the last month.", "Stop the direct debit, please."),
    },
    "declined": {
        "says": (
            "My card was declined at the checkout.", "I cannot pay, the payment page refuses my credit card.",
            "The payment failed but my bank shows a pending amount of {amount}.", "PayPal says the transaction was rejected.",
            "The direct debit bounced and now you want a late fee.",
        ),
        "adds": (
            "The app shows an error instead of the payment page.", "The bank says it is not them.", "I tried two different cards.",
            "The order shows as unpaid.", "I got a payment reminder {ago}.",
        ),
        "asks": ("Can I pay by bank transfer instead?", "Please take the fee off.", "Can you check if the payment arrived?"),
    },
    "discount": {
        "says": (
            "The discount code did not work at the checkout.", "I was promised 10% off but paid the full price.",
            "The voucher my {relative} gave me is not accepted.", "Your newsletter said {amount} off, but the total is unchanged.",
            "The price went down by {amount} one day after I bought it.",
        ),
        "adds": (
            "The code is valid until {month}.", "The delivery was not free either.", "The cheaper price was shown in the basket.", "It says the voucher is already used.",
            "The total at the checkout was {amount}.",
        ),
        "asks": ("Please credit me the difference.", "Can you apply the voucher to my order?", "Please adjust the price."),
    },
}  # fmt: skip

RETURNS: Final[dict[str, Issue]] = {
    "changed my mind": {
        "says": (
            "I would like to return the {item}.", "I want to send it back, it is not what I expected.",
            "The {thing} does not match our kitchen, so I want to send it back.", "I changed my mind about the {item}.",
            "My {relative} already has one, so we do not need the {thing}.", "The {colour} one looks different from the photos.",
        ),
        "adds": (
            "It is unused and still in the original box.", "The thirty days are not over yet.", "I did not open the packaging.",
            "I no longer have the original packaging.", "It was only opened to have a look.",
        ),
        "asks": ("Please send me a return label.", "How do I get my money back?", "Who pays the postage for this?"),
    },
    "wrong item": {
        "says": (
            "I got the {colour} one instead of the {colour} one.", "You sent the wrong {thing}.",
            "The box contained a {product} that I did not order.", "I ordered two and there was only one in the box.",
            "This is the wrong model, mine should be the {colour} version.",
        ),
        "adds": (
            "The label on the box is right but the content is not.", "I have not used it.",
            "The delivery note lists the right one.", "It is still sealed.", "It was packed in the same parcel.",
        ),
        "asks": ("I would like to exchange it.", "Please swap it for the right one.", "How can I send it back?"),
    },
    "arrived broken": {
        "says": (
            "The {thing} arrived broken.", "There is a crack in the {part}.", "The glass was smashed when I opened the box.",
            "The {part} is damaged and the box was dented.", "The {item} came with scratches all over it.",
        ),
        "adds": (
            "I took photos of the damage right away.", "The parcel was wet and dented.", "It looks like somebody used it before.",
            "The {part} is bent as well.", "The courier just dropped the parcel.", "It must have happened during the delivery.",
        ),
        "asks": ("I want a replacement.", "Please exchange it or refund me.", "Do I have to send it back first?"),
    },
    "refund late": {
        "says": (
            "I sent the {thing} back {ago} and still have no refund.", "You received my return {ago} but the money is not here.",
            "I am waiting for my refund {since}.", "The refund for the returned {item} is {amount} too low.",
            "My return was refused and I do not understand why.",
        ),
        "adds": (
            "I kept the slip from the post office.", "The return was signed for at your warehouse.",
            "My bank says that there is no payment from you.", "Your email said five working days.", "I used your return label.",
            "You charged me a fee for the return.",
        ),
        "asks": ("When do I get my money back?", "Please refund me in full.", "Please confirm that the return is there."),
    },
    "warranty": {
        "says": (
            "The {thing} stopped after {digit} months and I want to claim the warranty.", "Is the {part} covered by the guarantee?",
            "The seam of the {thing} came apart, surely that is a warranty case.", "The paint on the {thing} peels off already.",
        ),
        "adds": (
            "I still have the receipt.", "It was never dropped.", "The guarantee is two years, I think.",
            "The shop in town says you have to take it back.",
        ),
        "asks": ("Can I exchange it?", "I want a replacement under warranty.", "Where do I send it for repair?"),
    },
}  # fmt: skip

SHIPPING: Final[dict[str, Issue]] = {
    "late": {
        "says": (
            "My {item} has not arrived yet.", "I am waiting for my parcel {since}.", "The delivery is already {digit} days late.",
            "It should have been here {ago}.", "You promised delivery within two days.", "The {thing} was dispatched {ago} and never came.",
        ),
        "adds": (
            "The tracking number does not work.", "The tracking has not moved {since}.", "It seems to be stuck in a depot.",
            "The status in the app says in transit.", "I stayed at home the whole {day} for it.",
        ),
        "asks": ("Where is it?", "When will it arrive?", "Please tell me where my parcel is."),
    },
    "lost": {
        "says": (
            "The courier says the parcel was delivered but there is nothing here.", "Tracking says handed to a neighbour, but nobody has it.",
            "The driver left the package in the rain and now it is gone.", "I think my parcel is lost.",
            "It is marked as delivered {ago}, which is not true.",
        ),
        "adds": (
            "I asked all the neighbours.", "The signature is not mine.", "There was no card in the letterbox.",
            "The courier's hotline hangs up on me.", "The driver never rang the bell.",
        ),
        "asks": ("Please start an investigation with the courier.", "Please send another one.", "Can you ask the driver?"),
    },
    "address": {
        "says": (
            "I need to change the delivery address.", "I moved house and forgot to update the address.",
            "The address on the order is wrong, the house number is missing.", "Can you send it to my office instead?",
            "Can I pick up the parcel at the depot?", "My postcode is not recognised at the checkout.",
        ),
        "adds": (
            "It has not been dispatched yet, I think.", "I am on holiday until {day}.", "There is a pickup shop in our street.",
            "The new street is just round the corner.", "The courier cannot find our house.", "The app does not let me edit it.",
        ),
        "asks": ("Please change it before it leaves the warehouse.", "Can you tell the driver?", "Please update my order."),
    },
    "cost": {
        "says": (
            "Why is the shipping so expensive?", "Do you ship to Norway?", "How much is express shipping?",
            "I paid for express but it came by standard post.", "Customs want {amount} before they hand it over.",
        ),
        "adds": (
            "Your site says free shipping above {amount}.", "You charged me {amount} for the delivery.", "I live on an island, if that matters.",
            "I need it before {day}.", "Other shops deliver here without a problem.",
        ),
        "asks": ("Can you refund the shipping cost?", "How long would it take?", "Can it arrive before {day}?"),
    },
    "part missing": {
        "says": (
            "Only one of two packages arrived.", "My order was split and the second half is missing.",
            "The {thing} came, but the {part} has not been shipped.", "Is the {colour} {thing} back in stock?",
            "The estimated date keeps moving back.",
        ),
        "adds": (
            "The website says dispatched for both.", "There is only one tracking number.", "The warehouse says it is on backorder.",
            "The carrier knows of one package only.",
        ),
        "asks": ("When does the rest ship?", "When will the other package arrive?", "Please tell me the new date."),
    },
}  # fmt: skip

TECHNICAL: Final[dict[str, Issue]] = {
    "connection": {
        "says": (
            "The {product} does not connect to the wifi.", "Bluetooth pairing fails every time.",
            "The app cannot find the {thing}.", "It loses the connection every few minutes.", "The {thing} shows as offline.",
        ),
        "adds": (
            "I restarted the router.", "The light keeps blinking red.", "My phone is two metres away.",
            "The other devices in the house work fine.", "I have reset it several times.",
        ),
        "asks": ("How do I connect it?", "Is there a trick to reset it?", "Which network settings does it need?"),
    },
    "update": {
        "says": (
            "Since the last firmware update the {thing} freezes.", "The update gets stuck at 80%.",
            "After the new version the {thing} restarts by itself.", "The firmware cannot be installed, error E{digit}{digit}.",
            "The software update broke the timer.",
        ),
        "adds": (
            "I have version 2.{digit}.", "The screen stays black for a minute.", "It worked before the update.",
            "Error E{digit}{digit} comes up on the display.", "I tried to install it twice.",
        ),
        "asks": ("Can I return to the old version?", "When will this bug be fixed?", "How do I install it by hand?"),
    },
    "power": {
        "says": (
            "The battery of the {product} is empty after an hour, even when fully charged.", "The {thing} does not turn on any more.",
            "It is not charging, whatever cable I use.", "The {thing} switches itself off.", "It has to be charged three times a day.",
        ),
        "adds": (
            "The light on the {part} does not come on.", "I charged it overnight.", "It gets quite hot.",
            "It makes a clicking noise.", "The battery shows 100% and then dies.",
        ),
        "asks": ("Is there a setting for that?", "Can I exchange the battery?", "How do I reset it?"),
    },
    "app": {
        "says": (
            "The app crashes as soon as I open it.", "I cannot log in to the app since I have a new phone.",
            "The app shows an error when I add a device.", "The schedule in the app is ignored.",
            "The password reset link in the app gives an error page.",
        ),
        "adds": (
            "I deleted and installed it again.", "It shows the payment page instead of my devices.", "It is an Android phone.", "My {relative}'s iPhone has the same bug.",
            "The screen stays white.", "It asks me to log in again and again.",
        ),
        "asks": ("Is this a known bug?", "When is the next version out?", "What settings do you need to know?"),
    },
    "how to": {
        "says": (
            "How do I set the timer on the {product}?", "Where can I download the manual for the {thing}?",
            "How do I clean the {thing} from the inside?", "The display shows a symbol that is not in the manual.",
            "It beeps at night for no reason.", "The sensor measures two degrees too much.",
        ),
        "adds": (
            "I pressed the button for ten seconds.", "The menu is in Dutch.", "The manual has only pictures.",
            "The blinking does not stop.", "My {relative} could not work it out either.",
        ),
        "asks": ("Which button is it?", "Please send me the instructions.", "Is there a setting I am missing?"),
    },
}  # fmt: skip

SECURITY: Final[dict[str, Issue]] = {
    "taken over": {
        "says": (
            "Somebody has hacked my account.", "Somebody else is logged in to my account.",
            "The email address on my account was changed and it was not me.", "There are orders in my account that I never placed.",
            "My password was changed {ago} without my doing.",
        ),
        "adds": (
            "I use the same password nowhere else.", "The delivery address in the profile is a stranger's.",
            "I got a login alert from another country.", "They used my saved card for a payment.", "I cannot get in any more.",
        ),
        "asks": ("Please lock my account.", "Please block it at once.", "How do I secure my account?"),
    },
    "phishing": {
        "says": (
            "I got an email from you that looks like phishing.", "A text message asks me to confirm my card on a strange page.",
            "Somebody called in your name and wanted a code.", "Is this message about a parcel fee a scam?",
            "I clicked on a link in a fake email of yours and typed my password.",
        ),
        "adds": (
            "The sender's address looks odd.", "The link goes to a page in another country.",
            "They knew my name and my last delivery.", "I did not give them anything.",
        ),
        "asks": ("Is this really from you?", "Should I change my password?", "Please warn other customers."),
    },
    "login codes": {
        "says": (
            "I keep getting login codes that I did not ask for.", "Somebody tries to get into my account, I see failed logins.",
            "There was an unauthorised login from abroad {ago}.", "I lost the phone that I use for two-factor login.",
            "I see a suspicious device in my account.",
        ),
        "adds": (
            "The last one came in the middle of the night.", "I changed my password already.", "I do not know that device.",
            "The code expires before I can type it.", "I live alone, so it cannot be family.",
        ),
        "asks": ("Please log out all devices.", "How do I turn on two-factor?", "Please check who it was."),
    },
    "my data": {
        "says": (
            "Please delete my account and all my data.", "What personal data do you keep about me?",
            "I read about a data leak, are my details safe?", "Why can other people see my name on a review?",
        ),
        "adds": (
            "The privacy page does not say.", "I never agreed to that.", "I do not want my data shared with anybody.",
            "It is my right by law.",
        ),
        "asks": ("Please confirm that it is deleted.", "Please send me a copy of my data.", "Who can see my details?"),
    },
}  # fmt: skip

ISSUES: Final[dict[str, dict[str, Issue]]] = {
    "billing": BILLING,
    "returns": RETURNS,
    "security": SECURITY,
    "shipping": SHIPPING,
    "technical": TECHNICAL,
}

COMMON: Final[dict[str, tuple[str, ...]]] = {
    "billing": (
        "I checked it with my bank.", "The amount is wrong.", "I pay by credit card.", "It was {amount} too much.",
        "The accounting people should look at this.", "I will not pay this bill.", "The price was {amount}.",
    ),
    "returns": (
        "I kept the box.", "It is in perfect condition.", "I have never used it.", "I can bring it to the post office.",
        "I would rather have another colour.", "The label is still on it.", "I want my money back or a new one.",
    ),
    "security": (
        "I never share my login.", "I am worried about my data.", "It was not me.", "I do not feel safe with this.",
        "I changed my password at once.", "It looks like fraud to me.",
    ),
    "shipping": (
        "The depot does not answer.", "I was at home all day.", "It has to be here by {day}.", "The status has not changed.",
        "The postman knows nothing.", "The neighbours were at home, too.", "I need it before the holidays.",
    ),
    "technical": (
        "I read the manual.", "I switched it off and on again.", "It worked fine before.", "I tried everything in the settings.",
        "The light is blinking.", "My phone is quite new.", "I pressed reset.",
    ),
}  # fmt: skip

SUBJECTS: Final[dict[str, tuple[str, ...]]] = {
    "billing": ("Wrong amount", "Payment", "Invoice", "Price", "Money", "My bill", "Bank"),
    "returns": ("Return", "Exchange", "Refund", "Broken", "Not what I ordered", "Back to you", "Money back"),
    "security": ("My account", "Strange email", "Login", "Fraud", "Data", "Not me"),
    "shipping": ("Where is it?", "Delivery", "Parcel", "Address", "Late", "Not here", "Depot"),
    "technical": ("Does not work", "App", "Error", "Reset", "Blinking", "Connection", "Bug?"),
}
