//! Status conditions: the model, the roll-up, the lint rules, the health of any object.
