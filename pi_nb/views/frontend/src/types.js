/**
 * Shapes that travel between the modules. No code lives here.
 *
 * @typedef {object} Row  One entry of the log, as the kernel previews it.
 * @property {string} id
 * @property {string|null} parent
 * @property {string} type        Entry kind: message, model_change, leaf, …
 * @property {string} [role]      Role of a message.
 * @property {string} text        At most 200 characters.
 * @property {string|null} [target]  What a leaf or label entry points at.
 * @property {string} [model]
 * @property {number} [tokens]
 * @property {number} [cost]      US dollars.
 * @property {string} [error]
 * @property {string[]} [tools]   Names of the tools called.
 * @property {string[]} [calls]   One line per call, without the name.
 * @property {boolean} [thinking] The answer holds thinking.
 * @property {string} [time]      ISO 8601.
 * @property {string} [cell]      Number of the cell that wrote it.
 * @property {string} [cell_id]   Its id, which stays the same when it is run again.
 * @property {string} [kept]      First entry a compaction keeps.
 * @property {string} [label]     What a label entry says.
 * @property {string} [undoes]    The checkout that a move of the leaf takes back.
 * @property {string} [redoes]    The taking back that it takes back.
 * @property {string} [note]      Of a provisional row: what to say while there is no text.
 *
 * @typedef {object} Delta
 * @property {"delta"} op
 * @property {string} epoch
 * @property {number} from
 * @property {number} to
 * @property {number} [total]     Length of the log; more is to be asked for when above `to`.
 * @property {Row[]} rows
 * @property {string|null} leaf
 * @property {Record<string, string|null>} labels
 * @property {string} [status]    As the trait; the trait's change may have been lost.
 * @property {string|null} [name]
 * @property {string|null} [session]
 * @property {string|null} [file]
 *
 * @typedef {object} LiveRow  An answer that is still being written.
 * @property {string|null} [parent]  Entry it answers; the leaf if it does not say.
 * @property {string} [role]
 * @property {string} text
 * @property {string} [note]  What to say while there is no text: why it begins anew.
 * @property {string} [tail]
 * @property {string} [model]
 * @property {number} [tokens]
 * @property {string[]} [tools]
 * @property {string[]} [calls]
 *
 * @typedef {object} AgentState  How the agent behind a view stands.
 * @property {""|"run"|"summary"} phase
 * @property {string} doing        What keeps it busy where nothing arrives.
 * @property {string[]} steer      Will be said before the next answer.
 * @property {string[]} follow_up  Will be asked when the run would stop.
 * @property {string[]} next_turn  Goes in front of the next prompt.
 * @property {string[]} returned   Was not said, and belongs into the box again.
 * @property {number} returned_number
 * @property {string} problem      Why the last run from the view gave no answer.
 * @property {import("./ask.js").Question|null} question
 *
 * @typedef {object} Model  What anywidget hands us (the part we use).
 * @property {(name: string) => any} get
 * @property {(name: string, handler: Function) => void} on
 * @property {(name?: string|null, handler?: Function|null) => void} off
 * @property {(content: any) => void} send
 *
 * @typedef {object} ContextItem
 * @property {string} id
 * @property {string} role
 * @property {string} text
 * @property {string} [why]
 * @property {number} [tokens]
 * @property {boolean} [more]     The text was cut.
 * @property {string} [model]
 * @property {string[]} [calls]
 * @property {string} [error]
 *
 * @typedef {object} ContextAnswer
 * @property {string|null} entry
 * @property {ContextItem[]} items
 * @property {number} total       Messages in the context, of which `items` are the last.
 * @property {number} tokens
 * @property {string} [model]
 * @property {string} [thinking]
 * @property {string[]|null} [tools]
 * @property {{id: string, why: string, type: string, text: string}[]} [left_out]  The last of them.
 * @property {number} [left_total]  How many are left out.
 *
 * @typedef {"default"|"notools"|"user"|"labelled"|"all"} FilterMode
 * @typedef {"active"|"log"} Order
 */
export {};
