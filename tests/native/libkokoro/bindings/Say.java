import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/** Says a text from Java: BUNDLE TEXT VOICE SPEED SEED OUT, a file of float32 numbers. */
final class Say {
  public static void main(String[] arguments) throws IOException {
    List<float[]> heard = new ArrayList<>();
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    String folder = arguments[0], text = arguments[1], voice = arguments[2];
    double speed = Double.parseDouble(arguments[3]);
    long seed = Long.parseUnsignedLong(arguments[4]);
    // shown in docs/c.md
    try (Kokoro kokoro = new Kokoro(folder)) {
      kokoro.say(text, voice, speed, seed, piece -> {
        heard.add(piece.audio);
        for (Kokoro.Word word : piece.words)
          out.println(word.start + " " + word.end + " " + word.phonemes + " " + word.text);
      });
    }
    // until here
    try (FileChannel file = FileChannel.open(Path.of(arguments[5]), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (float[] audio : heard) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * audio.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(audio);
        file.write(bytes);
      }
    }
  }
}
